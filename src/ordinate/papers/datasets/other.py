"""The data sets of the papers that hold no images: what each is, where its owner gives it, what to put where."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class OtherSet:
    """A data set of a table, series, text, EEG or volumes.

    Args:
        name: in commands.
        title: as its owner calls it.
        label: what it holds, in words.
        task: what the label is.
        samples: how many there are to read.
        papers: which of the papers' tables use it.
        split: whose it is, in words.
        terms: under which it may be used.
        source: where to ask for it.
        layout: what to put where below ``ORDINATE_DATA``, a line each.
    """

    name: str
    title: str
    label: str
    task: Literal["ranks", "continuous"]
    samples: int
    papers: str
    split: str
    terms: str
    source: str
    layout: tuple[str, ...]


_UCI = "https://archive.ics.uci.edu/dataset"
_UCI_TERMS = "CC BY 4.0 by its page at UCI"
_TSER = "the time series extrinsic regression archive, http://tseregression.org"
_SEVENTY = "70% train, 30% test, drawn by seed; OTD does not say how it splits"
_SETS = (
    OtherSet(
        name="airfoil",
        title="Airfoil Self-Noise (Brooks, Pope, Marcolini 1989), a table of five numbers",
        label="scaled sound pressure level in decibels, 103 to 141",
        task="continuous",
        samples=1503,
        papers="SupReMix Tables 5, 11, Fig. 2",
        split="random in SupReMix's shares, 1,203 train, 150 validation, 150 test, drawn by seed",
        terms=_UCI_TERMS,
        source=f"{_UCI}/291/airfoil+self+noise",
        layout=(
            "uci_airfoil/airfoil_self_noise.csv.gz with the columns frequency_hz, angle_of_attack_deg, chord_m, "
            "velocity_mps, displacement_thickness_m, sound_pressure_db",
        ),
    ),
    OtherSet(
        name="car",
        title="Car Evaluation (Bohanec 1988), a table of six graded properties",
        label="4 ranks: unacc, acc, good, vgood",
        task="ranks",
        samples=1728,
        papers="OTD Table 2",
        split=_SEVENTY,
        terms=_UCI_TERMS,
        source=f"{_UCI}/19/car+evaluation",
        layout=("uci_ordinal/car.csv.gz with the columns buying, maint, doors, persons, lug_boot, safety, class",),
    ),
    OtherSet(
        name="nursery",
        title="Nursery (Rajkovic 1989), a table of eight graded properties",
        label="5 ranks: not_recom, recommend, very_recom, priority, spec_prior",
        task="ranks",
        samples=12_960,
        papers="OTD Table 2",
        split=_SEVENTY,
        terms=_UCI_TERMS,
        source=f"{_UCI}/76/nursery",
        layout=(
            "uci_ordinal/nursery.csv.gz with the columns parents, has_nurs, form, children, housing, finance, social, "
            "health, class",
        ),
    ),
    OtherSet(
        name="hayes_roth",
        title="Hayes-Roth (1977), a table of four coded properties of persons",
        label="3 classes, 1 to 3",
        task="ranks",
        samples=160,
        papers="OTD Table 2",
        split=_SEVENTY,
        terms=_UCI_TERMS,
        source=f"{_UCI}/44/hayes+roth",
        layout=(
            "uci_ordinal/hayes_roth.csv.gz with the columns hobby, age, educational_level, marital_status, class, the "
            "owner's two files one after the other",
        ),
    ),
    OtherSet(
        name="balance_scale",
        title="Balance Scale (Siegler 1976), a table of two weights and two distances",
        label="3 ranks: L, B, R, the scale tips to the left, is balanced, tips to the right",
        task="ranks",
        samples=625,
        papers="OTD Table 2",
        split=_SEVENTY,
        terms=_UCI_TERMS,
        source=f"{_UCI}/12/balance+scale",
        layout=(
            "uci_ordinal/balance_scale.csv.gz with the columns class, left_weight, left_distance, right_weight, "
            "right_distance",
        ),
    ),
    OtherSet(
        name="floodmodeling1",
        title="FloodModeling1 of the TSER archive (Tan 2021), series of 266 points",
        label="greatest depth of water",
        task="continuous",
        samples=673,
        papers="none; a small set of its kind",
        split="the archive's: 471 train, 202 test",
        terms="CC BY 4.0",
        source=_TSER,
        layout=("tser/FloodModeling1_TRAIN.ts and tser/FloodModeling1_TEST.ts",),
    ),
    OtherSet(
        name="covid3month",
        title="Covid3Month of the TSER archive (Tan 2021), series of 84 days",
        label="death rate of a country",
        task="continuous",
        samples=201,
        papers="none; a small set of its kind",
        split="the archive's: 140 train, 61 test",
        terms="CC BY 4.0",
        source=_TSER,
        layout=("tser/Covid3Month_TRAIN.ts and tser/Covid3Month_TEST.ts",),
    ),
    OtherSet(
        name="stsb_dir",
        title="STS-B-DIR: pairs of sentences of STS-B (Cer 2017) with the splits of Yang et al. 2021",
        label="similarity, 0 to 5",
        task="continuous",
        samples=7249,
        papers="SupReMix Tables 2, 10, 11",
        split="5,249 train, 1,000 validation, 1,000 test, the last two balanced over scores",
        terms="the files MIT; the sentences those of STS-B's own sources",
        source="https://github.com/YyzHarry/imbalanced-regression, sts-b-dir/glue_data/STS-B; vectors of words at "
        "https://nlp.stanford.edu/projects/glove/",
        layout=(
            "stsb_dir/train_new.tsv, dev_new.tsv, test_new.tsv, plain or gzipped",
            "glove.840B.300d.txt, unzipped, which SupReMix has; or vectors and words in an npz in glove100_subset",
        ),
    ),
    OtherSet(
        name="tuab",
        title="TUAB, the abnormal EEG corpus of Temple University Hospital (Obeid, Picone 2016)",
        label="age in years, of subjects without a pathology",
        task="continuous",
        samples=1385,
        papers="SupCR Tables 2, 10 to 12, 14",
        split="by subject: 1,246 train, 139 test, drawn by seed",
        terms="an application to the owner, whose page has the terms; patients without names",
        source="https://isip.piconepress.com/projects/nedc/html/tuh_eeg",
        layout=("tuab/edf with train and eval, each with normal/01_tcp_ar/<subject>_<session>_<part>.edf",),
    ),
    OtherSet(
        name="uk_biobank",
        title="UK Biobank, T1 structural brain images (field 20252; Miller 2016)",
        label="age in years, 42 to 82",
        task="continuous",
        samples=24_374,
        papers="SupReMix Tables 4, 11",
        split="labels.csv's own, or by subject in SupReMix's shares, 19,509 train, 2,434 validation, 2,431 test, drawn "
        "by seed",
        terms="for approved researchers",
        source="an application at https://www.ukbiobank.ac.uk",
        layout=(
            "uk_biobank/labels.csv with the columns subject (or eid), age, and split if you like; SupReMix leaves out "
            "subjects with a stroke, cancer, long-standing illness or poor health",
            "uk_biobank/<subject>_20252_2_0/T1/T1_brain_to_MNI.nii.gz, each zip unpacked into a folder of its name",
        ),
    ),
    OtherSet(
        name="hcp_aging",
        title="HCP-Aging (Bookheimer 2019), resting-state fMRI by brain region",
        label="age in years, 36 to 100",
        task="continuous",
        samples=656,
        papers="SupReMix Tables 6, 11",
        split="labels.csv's own, or by subject in SupReMix's shares, 456 train, 100 validation, 100 test, drawn by "
        "seed",
        terms="an application to the owner, whose page has the terms",
        source="https://www.humanconnectome.org/lifespan-studies; regions by the CBIG pipeline, "
        "https://github.com/ThomasYeoLab/CBIG",
        layout=(
            "hcp_aging/labels.csv with the columns path, age, and split or group (the subject) if you like",
            "the files that it names: a matrix each, csv or npy, a row a region of the Yeo-400 atlas, a column a point "
            "in time",
        ),
    ),
)
OTHER_SETS = {other_set.name: other_set for other_set in _SETS}
