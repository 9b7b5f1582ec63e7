import pytest

from ordinate.data.no_answer import no_answers_among, says_no_answer

NO_ANSWERS = [
    "Refused", "-9. Refused", "[-1] keine Angabe", "(9) Missing", "99 = No answer", "DON'T KNOW", "don\u2019t know",
    "DK",
    "IAP", "Dk,na", "Don't know / no answer", "Refusal; not asked", "Don't know (spontaneous)", "Not applicable",
    "Inap. (not 1 in V12)", "<missing>", "Prefer not to say", "Wei\u00df nicht", "Ne sait pas", "Sans r\u00e9ponse",
    "NS/NC",
    "No sabe / no contesta", "N\u00e3o sabe", "Weet niet", "\u00d8nsker ikke \u00e5 svare", "Nie wiem", "Non so",
    "\u041d\u0435\u0442 \u043e\u0442\u0432\u0435\u0442\u0430", "\u7121\u56de\u7b54", "\u4e0d\u77e5\u9053",
    "Bilmiyorum", "Stage X",
]  # fmt: skip
ANSWERS = [
    "No", "None", "Never", "Excellent", "Not at all", "No trust at all", "Not important", "No opinion", "Neither",
    "Refugee",
    "Undecided", "Unknown territory", "Not sure", "1", "", "trifft nicht zu", "Not relevant", "Missing tooth", "NS",
]  # fmt: skip


@pytest.mark.parametrize("label", NO_ANSWERS)
def test_labels_of_the_survey_programmes_say_that_there_is_no_answer(label):
    assert says_no_answer(label)


@pytest.mark.parametrize("label", ANSWERS)
def test_other_labels_are_answers(label):
    assert not says_no_answer(label)


@pytest.mark.parametrize("label", ["trifft nicht zu", "Does not apply", "Not relevant"])
def test_what_may_be_the_lowest_of_a_scale_is_no_answer_with_a_code_below_zero(label):
    assert says_no_answer(label, is_negative=True)
    assert says_no_answer(f"[-2] {label}")
    assert not says_no_answer(f"2. {label}")


def test_abbreviations_are_no_answer_for_codes_alone():
    assert says_no_answer("DK")
    assert not says_no_answer("DK", of_code=False)


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["low", "high", "refused"], {"refused"}),
        (["1", "2", "?"], {"?"}),
        (["1", "2", "-"], {"-"}),
        (["-", "+", "++"], set()),
        (["?"], set()),
        (["NA", "Po", "Fa"], set()),
    ],
)
def test_signs_are_no_answer_among_numbers(texts, found):
    assert no_answers_among(texts) == found
