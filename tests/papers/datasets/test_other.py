"""What is said of the data sets that hold no images."""

from ordinate.papers.datasets.images import IMAGE_SETS
from ordinate.papers.datasets.other import OTHER_SETS
from ordinate.papers.tables.datasets import DATASETS


def test_every_set_of_the_tables_is_explained():
    explained = {**IMAGE_SETS, **OTHER_SETS}
    assert set(DATASETS) - set(explained) == {"imbalanced_ages"}  # which is drawn
    assert set(OTHER_SETS) <= set(DATASETS)
    assert not set(OTHER_SETS) & set(IMAGE_SETS)


def test_every_set_says_what_it_is():
    for name, chosen in OTHER_SETS.items():
        assert name == chosen.name
        assert chosen.task == DATASETS[name].task
        texts = (chosen.title, chosen.label, chosen.papers, chosen.split, chosen.terms, *chosen.layout)
        assert all(text and text == text.strip() for text in texts)
        assert "https://" in chosen.source or "http://" in chosen.source


def test_the_parts_of_a_split_with_numbers_are_all_samples():
    for name, numbers in {
        "airfoil": (1203, 150, 150), "floodmodeling1": (471, 202), "covid3month": (140, 61),
        "stsb_dir": (5249, 1000, 1000), "tuab": (1246, 139), "uk_biobank": (19509, 2434, 2431),
        "hcp_aging": (456, 100, 100),
    }.items():  # fmt: skip
        chosen = OTHER_SETS[name]
        assert sum(numbers) == chosen.samples
        assert all(f"{number:,} " in chosen.split for number in numbers)
