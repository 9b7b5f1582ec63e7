"""Every method with data that it trains on, one epoch a stage, under a learning rate that starts and ends at 0."""

from torch import nn

from ordinate.losses import SupCRLoss
from ordinate.methods import CLOC, OTD, Optimization, SupCR, SupReMix
from ordinate.methods.plain import CrossEntropy
from ordinate.methods.regression import EndToEnd
from ordinate_papers.methods.dino import DINO, DINORegression
from ordinate_papers.methods.gol import GOL
from ordinate_papers.methods.mwr import MWR
from ordinate_papers.methods.ordinal import Ordinal
from ordinate_papers.methods.pair_views import TableViews
from ordinate_papers.methods.pairs import build_pair_loss
from ordinate_papers.methods.poe import POE, GaussianEncoder
from ordinate_papers.methods.rank_losses import LOSSES, LaterOrdinal
from ordinate_papers.methods.rare_targets import BalancedMSE, ConR
from ordinate_papers.methods.representation import Representation, RepresentationRegression
from ordinate_papers.methods.simclr import NTXentLoss
from tests.methods.examples import DIM, encoder, ranks, targets

VIEWS = TableViews([1, 1, 1])
WARM = Optimization()
ONE = {"epochs": 1, "optimization": WARM}
TWO = {"epochs": (1, 1), "optimization": WARM, "head_optimization": WARM}


def ordinal(loss):
    return lambda: (Ordinal(encoder(), DIM, 4, loss=loss, **ONE), ranks())


def later(loss):
    return lambda: (LaterOrdinal(encoder(), DIM, 4, loss=loss, **ONE), ranks())


CONR = {"weight": 1.0, "window": 0.5, "push": 0.2, "temperature": 0.2}
METHODS = {
    "cloc": lambda: (CLOC(encoder(), DIM, 4, phase_epochs=(1, 1), optimization=WARM), ranks()),
    "otd": lambda: (OTD(encoder(), 4, **ONE), ranks()),
    "supcr": lambda: (SupCR(encoder(), DIM, **TWO), targets()),
    "supcr, fine-tuned": lambda: (SupCR(encoder(), DIM, scheme="fine_tune", **TWO), targets()),
    "supremix": lambda: (SupReMix(encoder(), DIM, window=1.0, **TWO), targets()),
    "end to end": lambda: (EndToEnd(encoder(), DIM, **ONE), targets()),
    "cross-entropy": lambda: (CrossEntropy(encoder(), DIM, 4, **ONE), ranks()),
    "or": ordinal("or"),
    "corn": ordinal("corn"),
    "coral": ordinal("coral"),
    **{loss: later(loss) for loss in LOSSES},
    "balanced mse": lambda: (BalancedMSE(encoder(), DIM, **ONE), targets()),
    "conr": lambda: (ConR(encoder(), DIM, **CONR, **ONE), targets()),
    "poe": lambda: (POE(GaussianEncoder(nn.Linear(3, 2 * DIM), DIM), 4, **ONE), ranks()),
    "gol": lambda: (GOL(encoder(), DIM, 4, **ONE), ranks()),
    "mwr": lambda: (MWR(encoder(), DIM, **ONE), ranks()),
    "triplet": lambda: (Representation(encoder(), DIM, build_pair_loss("triplet"), **ONE), ranks()),
    "rnc": lambda: (Representation(encoder(), DIM, SupCRLoss(), **ONE), ranks()),
    "supcon, then a head": lambda: (
        RepresentationRegression(encoder(), DIM, build_pair_loss("supcon"), **TWO), supcon_targets(),
    ),
    "simclr": lambda: (Representation(encoder(), DIM, NTXentLoss(), draw=VIEWS, **ONE), ranks()),
    "dino": lambda: (DINO(encoder(), DIM, draw=VIEWS, **ONE), ranks()),
    "dino, then a head": lambda: (DINORegression(encoder(), DIM, draw=VIEWS, **TWO), targets()),
}  # fmt: skip


def supcon_targets():
    data = targets()
    data.y = (data.y - data.y.min()).round()
    return data
