"""Every attack by its name, with its default parameters."""

from collections.abc import Callable

from attacks.reconstruction.attack import Attack
from attacks.reconstruction.dlg import DLG, IDLG
from attacks.reconstruction.grad_inversion import GradInversion
from attacks.reconstruction.informed import FinitePrior, Informed
from attacks.reconstruction.inverting_gradients import InvertingGradients
from attacks.reconstruction.least_squares_gram import LeastSquaresGram
from attacks.reconstruction.one_record import (
    DenseLayerRecord,
    LeastSquaresRecord,
    LogisticRecord,
    MeanOfRatios,
    OneRecord,
    SoftmaxRecord,
)
from attacks.reconstruction.posterior import PosteriorBatch, PosteriorMean, PosteriorMode, PureMatching
from attacks.reconstruction.row_space import RowSpace

ATTACKS: dict[str, Callable[[], Attack]] = {
    "least-squares-record": LeastSquaresRecord,
    "logistic-record": LogisticRecord,
    "softmax-record": SoftmaxRecord,
    "dense-layer": DenseLayerRecord,
    "mean-of-ratios": MeanOfRatios,
    "row-space": RowSpace,
    "least-squares-gram": LeastSquaresGram,
    "one-record": OneRecord,
    "posterior": PosteriorMode,
    "posterior-mean": PosteriorMean,
    "posterior-batch": PosteriorBatch,
    "pure-matching": PureMatching,
    "dlg": DLG,
    "idlg": IDLG,
    "inverting_gradients": InvertingGradients,
    "grad_inversion": GradInversion,
    "finite-prior": FinitePrior,
    "informed-finite-prior": Informed,
}
