"""What is said of the data sets."""

from ordinate_papers.datasets.catalogue import DATA_SETS, IMAGE_SETS, OTHER_SETS, TABLE_SETS
from ordinate_papers.datasets.reading import FILES, READERS


def test_every_set_is_explained_but_the_one_that_is_drawn():
    assert len(IMAGE_SETS) == 16
    assert set(DATA_SETS) - {"imbalanced_ages"} == {**IMAGE_SETS, **OTHER_SETS}.keys()


def test_tables_use_all_sets_that_have_a_split():
    assert set(DATA_SETS) - set(TABLE_SETS) == {"agedb", "imdb_wiki"}


def test_every_set_says_what_it_is():
    for name, chosen in DATA_SETS.items():
        assert name == chosen.name
        assert chosen.task in {"ranks", "continuous"}
        texts = [chosen.title, chosen.label, chosen.split, *chosen.layout]
        if chosen.kind != "drawn":
            texts += [chosen.papers, chosen.terms]
            assert "https://" in chosen.source or "http://" in chosen.source or "as " in chosen.source
        assert chosen.layout
        assert all(text and text == text.strip() for text in texts)


def test_every_set_can_be_found_and_read():
    for chosen in DATA_SETS.values():
        assert chosen.kind in READERS
        assert chosen.kind in FILES or chosen.reading["files"]


def test_the_parts_of_a_split_with_numbers_are_all_samples():
    for name, numbers in {
        "airfoil": (1203, 150, 150), "floodmodeling1": (471, 202), "covid3month": (140, 61),
        "stsb_dir": (5249, 1000, 1000), "tuab": (1246, 139), "uk_biobank": (19509, 2434, 2431),
        "hcp_aging": (456, 100, 100),
    }.items():  # fmt: skip
        chosen = OTHER_SETS[name]
        assert sum(numbers) == chosen.samples
        assert all(f"{number:,} " in chosen.split for number in numbers)
