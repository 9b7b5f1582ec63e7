"""The image sets of the papers: what each is, where its owner gives it, and how to read it."""

import difflib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ordinate.data.images.folds import hold_out
from ordinate.data.labelled import Labelled
from ordinate.errors import OrdinateError
from ordinate.papers.datasets.images.adience import read_adience
from ordinate.papers.datasets.images.clap2015 import read_clap2015
from ordinate.papers.datasets.images.download import Download, fetch
from ordinate.papers.datasets.images.file_names import read_agedb, read_fgnet, read_fingers
from ordinate.papers.datasets.images.idrid import read_idrid
from ordinate.papers.datasets.images.imbalanced_ages import read_agedb_dir, read_imdb_wiki_dir
from ordinate.papers.datasets.images.imdb_wiki import read_imdb_wiki
from ordinate.papers.datasets.images.mpiifacegaze import read_mpiifacegaze
from ordinate.papers.datasets.images.rank_folders import read_bracs, read_busi, read_hid, read_koa
from ordinate.papers.datasets.images.retinamnist import read_retinamnist
from ordinate.papers.datasets.images.skyfinder import read_skyfinder

DATA = "ORDINATE_DATA"  # the variable that says where the sets are


@dataclass(frozen=True)
class ImageSet:
    """An image set.

    Args:
        name: of its folder and in commands.
        title: as its owner calls it.
        label: what it holds, in words.
        task: what the label is.
        images: how many there are to read; None where the owner does not say.
        papers: which of the papers' tables use it.
        split: whose it is, in words.
        terms: under which it may be used.
        source: where to ask for it.
        layout: what to put into its folder, a line each.
        read: reads it from a folder or zip.
        download: the file, where it may be fetched.
    """

    name: str
    title: str
    label: str
    task: Literal["ranks", "continuous"]
    images: int | None
    papers: str
    split: str
    terms: str
    source: str
    layout: tuple[str, ...]
    read: Callable[..., Labelled]
    download: Download | None = None


_SETS = (
    ImageSet(
        name="adience",
        title="Adience benchmark of unfiltered faces (Eidinger, Enbar, Hassner 2014), aligned in plane",
        label="8 age groups: 0-2, 4-6, 8-13, 15-20, 25-32, 38-43, 48-53, 60+ years",
        task="ranks",
        images=None,
        papers="CLOC Tables 1, 2, 4; OTD Table 1",
        split="the owner's five folds, of different users; fold=0 to 4 holds one out",
        terms="photographs of people from Flickr; the terms are in the owner's licence file",
        source="the owner's form at https://talhassner.github.io/home/projects/Adience/Adience-data.html",
        layout=("fold_0_data.txt to fold_4_data.txt", "aligned/<user>/landmark_aligned_face.<face>.<image>.jpg"),
        read=read_adience,
    ),
    ImageSet(
        name="hid",
        title="Historical Colour Images (Palermo, Hays, Efros 2012)",
        label="5 decades, 1930s to 1970s",
        task="ranks",
        images=1325,
        papers="CLOC Tables 1, 2, 4",
        split="five random folds, 50 of a decade to test on and 215 to train on; fold=0 to 4 holds one out, seed draws",
        terms="photographs from Flickr, without a licence for the whole; ask the authors",
        source="HistoricalColor-ECCV2012 at http://graphics.cs.cmu.edu/projects/historicalColor/",
        layout=("data/imgs/decade_database/1930s to 1970s, as unpacked, or the five folders alone",),
        read=read_hid,
    ),
    ImageSet(
        name="koa",
        title="Knee Osteoarthritis Severity Grading (Chen 2018; Osteoarthritis Initiative)",
        label="5 Kellgren-Lawrence grades, 0 healthy to 4 severe",
        task="ranks",
        images=8260,
        papers="CLOC Tables 1, 2, 4",
        split="the owner's, by subject: 5,778 train, 826 validation, 1,656 test; CLOC trains on train and validation",
        terms="CC BY 4.0 by its page at Mendeley; X-rays without names",
        source="Mendeley Data, https://doi.org/10.17632/56rmx5bjcr.1 (ClsKLData/kneeKL224 of KneeXrayData)",
        layout=("train, val and test, each with folders 0 to 4 of files such as 9001695L.png, or a zip of these",),
        read=read_koa,
    ),
    ImageSet(
        name="idrid",
        title="Indian Diabetic Retinopathy Image Dataset, B. Disease Grading (Porwal 2018)",
        label="5 grades of diabetic retinopathy",
        task="ranks",
        images=516,
        papers="CLOC Tables 1 to 4, 7, 8",
        split="the owner's: 413 train, 103 test",
        terms="CC BY 4.0",
        source="IEEE DataPort, https://ieee-dataport.org/open-access/indian-diabetic-retinopathy-image-dataset-idrid",
        layout=(
            "1. Original Images/a. Training Set and b. Testing Set, of files such as IDRiD_001.jpg",
            "2. Groundtruths/a. IDRiD_Disease Grading_Training Labels.csv and b. ..._Testing Labels.csv",
        ),
        read=read_idrid,
    ),
    ImageSet(
        name="bracs",
        title="BReAst Carcinoma Subtyping, regions of interest (Brancati 2022)",
        label="7 subtypes: normal, pathological benign, usual hyperplasia, flat atypia, atypical hyperplasia, in situ, "
        "invasive",
        task="ranks",
        images=4539,
        papers="CLOC Tables 1, 2, 4",
        split="the owner's: 3,969 train and validation, 570 test; CLOC trains on train and validation",
        terms="registration with the owner, whose page has the terms",
        source="https://www.bracs.icar.cnr.it/download/",
        layout=("BRACS_RoI/latest_version/train, val and test, each with folders 0_N to 6_IC",),
        read=read_bracs,
    ),
    ImageSet(
        name="clap2015",
        title="ChaLearn Looking at People 2015, apparent age (Escalera 2015)",
        label="apparent age in bins of bin_size years: 79, 42, 28, 22, 18 ranks for 1 to 5",
        task="ranks",
        images=None,
        papers="CLOC Tables 5, 6",
        split="the owner's train, validation and test",
        terms="photographs of people, for research; registration with the owner",
        source="https://chalearnlap.cvc.uab.cat, 2015 Looking At People ICCV Challenge, Track 1: Age Estimation",
        layout=(
            "Train.csv, Validation.csv, Test.csv with rows image;mean age;deviation",
            "Train, Validation and Test, folders of the images",
        ),
        read=read_clap2015,
    ),
    ImageSet(
        name="agedb",
        title="AgeDB (Moschoglou 2017)",
        label="age in years",
        task="continuous",
        images=16_488,
        papers="SupCR Tables 1, 5, 7 to 14, with the splits of agedb_dir",
        split="none; agedb_dir has the papers'",
        terms="photographs of people, for research that is not commercial; the owner gives the password of the zip",
        source="https://ibug.doc.ic.ac.uk/resources/agedb/",
        layout=("AgeDB/<number>_<person>_<age>_<gender>.jpg",),
        read=read_agedb,
    ),
    ImageSet(
        name="agedb_dir",
        title="AgeDB-DIR: AgeDB with the splits of Yang et al. 2021",
        label="age in years, 0 to 101",
        task="continuous",
        images=16_488,
        papers="SupCR Tables 1, 5, 7 to 14; SupReMix Tables 1, 7 to 11, 14, 16",
        split="12,208 train, 2,140 validation, 2,140 test, the last two balanced over ages",
        terms="images as agedb; the table MIT",
        source="images as agedb; agedb.csv at https://github.com/YyzHarry/imbalanced-regression, agedb-dir/data",
        layout=("agedb.csv (age, path, split)", "AgeDB/<number>_<person>_<age>_<gender>.jpg"),
        read=read_agedb_dir,
    ),
    ImageSet(
        name="imdb_wiki",
        title="IMDB-WIKI (Rothe, Timofte, Van Gool 2015), cropped faces",
        label="age in years, 0 to 100",
        task="continuous",
        images=None,
        papers="SupCR Tables 5, 6; SupReMix Tables 3, 8, 11, 15, with the splits of imdb_wiki_dir",
        split="none; imdb_wiki_dir has the papers'",
        terms="photographs of people, for academic research only",
        source="https://data.vision.ee.ethz.ch/cvl/rrothe/imdb-wiki/ (imdb_crop.tar and wiki_crop.tar)",
        layout=("imdb_crop with imdb.mat and the folders 00 to 99", "wiki_crop with wiki.mat and the folders 00 to 99"),
        read=read_imdb_wiki,
    ),
    ImageSet(
        name="imdb_wiki_dir",
        title="IMDB-WIKI-DIR: IMDB-WIKI with the splits of Yang et al. 2021",
        label="age in years, 0 to 186 (wrong labels of the original)",
        task="continuous",
        images=213_553,
        papers="SupCR Tables 5, 6; SupReMix Tables 3, 8, 11, 15",
        split="191,509 train, 11,022 validation, 11,022 test, the last two balanced over ages",
        terms="images as imdb_wiki; the table MIT",
        source="images as imdb_wiki; imdb_wiki.csv at https://github.com/YyzHarry/imbalanced-regression, imdb-wiki-dir",
        layout=("imdb_wiki.csv (age, path, split)", "imdb_crop and wiki_crop with their folders 00 to 99"),
        read=read_imdb_wiki_dir,
    ),
    ImageSet(
        name="mpiifacegaze",
        title="MPIIFaceGaze (Zhang, Sugano, Fritz, Bulling 2017)",
        label="pitch and yaw of the gaze in radians",
        task="continuous",
        images=37_667,
        papers="SupCR Tables 3, 9 to 14",
        split="by participant: 11 train, 2 validation, 2 test, drawn by seed",
        terms="photographs of people, CC BY-NC-SA 4.0, for science that is not commercial",
        source="https://collaborative-ai.org/research/datasets/MPIIFaceGaze",
        layout=("p00 to p14, each with its annotation, such as p00/p00.txt, and its folders of days",),
        read=read_mpiifacegaze,
    ),
    ImageSet(
        name="skyfinder",
        title="SkyFinder (Mihail 2016), the images around eleven o'clock (Chu 2018)",
        label="temperature in degrees Celsius",
        task="continuous",
        images=35_417,
        papers="SupCR Tables 4, 9 to 14",
        split="random in SupCR's shares, 28,373 train, 3,522 validation, 3,522 test, drawn by seed",
        terms="webcam images, without a licence that is stated; ask the authors",
        source="https://cs.valdosta.edu/~rpmihail/skyfinder/",
        layout=("complete_table_with_mcr.csv", "images/<camera>/<date>_<time>.jpg, the cameras' zips unpacked"),
        read=read_skyfinder,
    ),
    ImageSet(
        name="busi",
        title="Breast Ultrasound Images (Al-Dhabyani 2020)",
        label="3 ranks: normal, benign, malignant",
        task="ranks",
        images=780,
        papers="OTD Tables 1, 5",
        split="five random blocks, drawn by seed; fold=0 to 4 holds one out; OTD validates on 20% of the rest",
        terms="published with an article under CC BY 4.0; two images are the same",
        source="https://scholar.cu.edu.eg/?q=afahmy/pages/dataset (Dataset_BUSI_with_GT)",
        layout=(
            "normal, benign and malignant, of files such as benign (1).png, with or without masks, or a zip of these",
        ),
        read=read_busi,
    ),
    ImageSet(
        name="fingers",
        title="Fingers (koryakinp, Kaggle)",
        label="number of raised fingers, 0 to 5",
        task="ranks",
        images=21_600,
        papers="OTD Table 1",
        split="the owner's: 18,000 train, 3,600 test",
        terms="as its page at Kaggle says",
        source="https://www.kaggle.com/datasets/koryakinp/fingers",
        layout=(
            "train and test, of files whose names end in the number and the hand, as in _4L.png, or a zip of these",
        ),
        read=read_fingers,
    ),
    ImageSet(
        name="fgnet",
        title="FG-NET Aging Database (Lanitis)",
        label="4 age groups: child to 12, adolescent to 18, adult to 59, senior from 60 years",
        task="ranks",
        images=1002,
        papers="OTD Table 1",
        split="five random blocks of images, not of subjects, drawn by seed; fold=0 to 4 holds one out; OTD validates "
        "on 20% of the rest",
        terms="photographs of people, for research",
        source="https://yanweifu.github.io/FG_NET_data/",
        layout=("images/<subject>A<age>.JPG, as in 001A02.JPG",),
        read=read_fgnet,
    ),
    ImageSet(
        name="retinamnist",
        title="RetinaMNIST of MedMNIST v2 (Yang 2023), 28 x 28 pixels, from DeepDRiD",
        label="5 grades of diabetic retinopathy",
        task="ranks",
        images=1600,
        papers="none; a small set of its kind, for tests",
        split="the owner's: 1,080 train, 120 validation, 400 test",
        terms="CC BY 4.0",
        source="Zenodo, https://zenodo.org/records/6496656",
        layout=("retinamnist.npz",),
        read=read_retinamnist,
        download=Download(
            url="https://zenodo.org/records/6496656/files/retinamnist.npz?download=1",
            file="retinamnist.npz",
            size=3_291_041,
            sha256="254915f5f0a2074665c4676356824cf4ef4a3bcab233894b4bafcaf48962bd69",
        ),
    ),
)
IMAGE_SETS = {image_set.name: image_set for image_set in _SETS}


def image_set(name: str) -> ImageSet:
    """Return a set by its name.

    Raises:
        OrdinateError: there is none; names the nearest.
    """
    if name not in IMAGE_SETS:
        near = difflib.get_close_matches(name, IMAGE_SETS)
        hint = f"did you mean {near[0]!r}?" if near else f"takes one of {', '.join(IMAGE_SETS)}"
        raise OrdinateError(f"image set: got {name!r}; {hint}")
    return IMAGE_SETS[name]


def find(name: str) -> Path | None:
    """Return where a set lies below ``ORDINATE_DATA``: its folder, or the zip that is all the folder holds of it.

    Raises:
        OrdinateError: there is no set of this name.
    """
    name = image_set(name).name
    if not os.environ.get(DATA):
        return None
    folder = Path(os.environ[DATA]) / name
    held = list(folder.iterdir()) if folder.is_dir() else []
    zips = [path for path in held if path.suffix.lower() == ".zip"]
    if len(zips) == 1 and not any(path.is_dir() for path in held):
        return zips[0]
    return folder if held else None


def load(name: str, root: str | Path | None = None, *, fold: int | None = None, **options: Any) -> Labelled:
    """Read a set.

    Args:
        name: of the set.
        root: its folder or zip; None takes where `find` finds it.
        fold: 0 to 4, to be held out as ``"test"``, all others ``"train"``, for sets with five folds.
        options: of its reader, such as ``seed`` or ``bin_size``.

    Raises:
        OrdinateError: there is no such set, it is not there, or it does not lie as its owner ships it.
    """
    chosen = image_set(name)
    root = find(name) if root is None else root
    if root is None:
        folder = os.environ.get(DATA)
        where = f"{DATA}={folder} holds no folder {name}" if folder else f"{DATA} is not set and no root is given"
        way = "ordinate datasets {0} --download FOLDER" if chosen.download else "ordinate datasets {0}"
        raise OrdinateError(
            f"{name}: {where}; get it from {chosen.source}, and see `{way.format(name)}` for what to put where"
        )
    images = chosen.read(root, **options)
    return images if fold is None else hold_out(images, fold)


def download(name: str, folder: str | Path) -> Path:
    """Fetch a set that may be fetched into a folder of its name, and return where it lies.

    Raises:
        OrdinateError: there is no such set, it may not be fetched, or fetching failed.
    """
    chosen = image_set(name)
    if chosen.download is None:
        raise OrdinateError(f"{name}: is not for download by a program; get it from {chosen.source}")
    return fetch(chosen.download, Path(folder) / name)
