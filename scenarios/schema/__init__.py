"""What a scenario can say: one experiment as data, in the same words in YAML and in Python.

Every model is closed (an unknown field is an error), frozen, and knows how to build what it describes. Numbers
carry their bounds here; what depends on other parts (a step against the smoothness, a tap against the graph)
is checked where the parts meet, before time 0, as a `ScenarioError` with the path of the field. Everything a file can
hold has a name here: `topology: {kind: ring, agents: 8}` is `topology=Ring(agents=8)`.
"""

from scenarios.schema.activity import DowntimeSpec as Downtime
from scenarios.schema.activity import ExchangeSpec as Exchange
from scenarios.schema.activity import PoissonClockSpec as PoissonClock
from scenarios.schema.activity import StragglerSpec as Straggler
from scenarios.schema.adversaries import AdversarySpec as Adversary
from scenarios.schema.adversaries import AroundSpec as Around
from scenarios.schema.adversaries import CutSpec as Cut
from scenarios.schema.adversaries import RandomShareSpec as RandomShare
from scenarios.schema.adversaries import WithinSpec as Within
from scenarios.schema.algorithms import (
    AlgorithmSpec,
    DPRecalSpec,
    Ground,
    PrivateGradientDescentSpec,
    RecalSpec,
    schedule,
)
from scenarios.schema.algorithms.admm import DAdmmSpec as DAdmm
from scenarios.schema.algorithms.admm import DpAdmmSpec as DpAdmm
from scenarios.schema.algorithms.admm import IcAdmmSpec as IcAdmm
from scenarios.schema.algorithms.admm import MrAdmmSpec as MrAdmm
from scenarios.schema.algorithms.admm import RAdmmSpec as RAdmm
from scenarios.schema.algorithms.admm import RwAdmmSpec as RwAdmm
from scenarios.schema.algorithms.admm import WalkmanSpec as Walkman
from scenarios.schema.algorithms.base import ClipSpec as Clip
from scenarios.schema.algorithms.base import GeometricSpec as Geometric
from scenarios.schema.algorithms.base import PolynomialSpec as Polynomial
from scenarios.schema.algorithms.base import PureTarget, Target
from scenarios.schema.algorithms.base import UniformDrawsSpec as UniformDraws
from scenarios.schema.algorithms.decaying import BallSpec as Ball
from scenarios.schema.algorithms.decaying import BoxSpec as Box
from scenarios.schema.algorithms.decaying import DmspSpec as Dmsp
from scenarios.schema.algorithms.decaying import Dpp2Spec as Dpp2
from scenarios.schema.algorithms.descent import PrivateGradientDescentSpec as PrivateGradientDescent
from scenarios.schema.algorithms.mixing import CpgtSpec as Cpgt
from scenarios.schema.algorithms.mixing import DiaDSPSpec as DiaDSP
from scenarios.schema.algorithms.mixing import ExtraSpec as Extra
from scenarios.schema.algorithms.mixing import GradientTrackingSpec as GradientTracking
from scenarios.schema.algorithms.mixing import NidsSpec as Nids
from scenarios.schema.algorithms.mixing import PgExtraSpec as PgExtra
from scenarios.schema.algorithms.mixing import PpdcSpec as Ppdc
from scenarios.schema.algorithms.own import OwnClaim
from scenarios.schema.algorithms.own import PythonSpec as Python
from scenarios.schema.algorithms.planted import PlantedFaultSpec as PlantedFault
from scenarios.schema.algorithms.random_mixing import GroupedDescentSpec as GroupedDescent
from scenarios.schema.algorithms.random_mixing import NeighborRangeSpec as NeighborRange
from scenarios.schema.algorithms.random_mixing import RandomPenaltyAdmmSpec as RandomPenaltyAdmm
from scenarios.schema.algorithms.random_mixing import SecretSharingSpec as SecretSharing
from scenarios.schema.algorithms.walks import DPRecalSpec as DpRecal
from scenarios.schema.algorithms.walks import RecalSpec as Recal
from scenarios.schema.algorithms.walks import Stddev
from scenarios.schema.attacks import DlgSpec as Dlg
from scenarios.schema.attacks import GradInversionSpec as GradInversion
from scenarios.schema.attacks import IdlgSpec as Idlg
from scenarios.schema.attacks import InformedSpec as Informed
from scenarios.schema.attacks import InvertingGradientsSpec as InvertingGradients
from scenarios.schema.attacks import OwnSpec as Own
from scenarios.schema.attacks import PosteriorBatchSpec as PosteriorBatch
from scenarios.schema.attacks import RowSpaceSpec as RowSpace
from scenarios.schema.checks import (
    AtEnd,
    AttackVerdict,
    ClaimedAfter,
    CostTo,
    ErrorAfter,
    Fact,
    Final,
    Growth,
    OptimumIsZero,
    Other,
    Rebuilt,
    Slope,
    VacuousFrom,
    Verdict,
)
from scenarios.schema.data import (
    Adult,
    BreastCancer,
    CifarCatDog,
    Covtype,
    CsvFile,
    Digits,
    FashionMnist,
    Ijcnn1,
    LibsvmFile,
    Mnist,
    Sensors,
    Synthetic,
)
from scenarios.schema.deciding import HypothesisSpec as Hypothesis
from scenarios.schema.deciding import MembershipSpec as Membership
from scenarios.schema.deciding import PropertySpec as Property
from scenarios.schema.links import AccessSpec as Access
from scenarios.schema.links import (
    BurstLoss,
    ConstantDelay,
    ExponentialDelay,
    LinkOverride,
    LinkSpec,
    LognormalDelay,
    RandomOutages,
    ScheduledOutages,
    TraceDelay,
    TraceLoss,
    TraceOutages,
    UniformDelay,
)
from scenarios.schema.links import LinkSpec as Links
from scenarios.schema.measures import MeasureSpec as Measures
from scenarios.schema.meddlers import AlterSpec as Alter
from scenarios.schema.meddlers import ConstantValue, FlippedSign, GaussianNoise, ScaleBy
from scenarios.schema.meddlers import DelaySpec as Delay
from scenarios.schema.meddlers import DropSpec as Drop
from scenarios.schema.meddlers import MeddlerSpec as Meddler
from scenarios.schema.meddlers import ReplaySpec as Replay
from scenarios.schema.media import RadioSpec as Radio
from scenarios.schema.media import medium
from scenarios.schema.messages import FixedPoint, Float16, Float32, Float64, Quantizer, RandomK, ScaledSign, TopK
from scenarios.schema.messages import MessageSpec as Messages
from scenarios.schema.outputs import OutputsSpec
from scenarios.schema.outputs import OutputsSpec as Outputs
from scenarios.schema.problem import DirichletSplit, EqualSplit, LabelSplit
from scenarios.schema.problem import ProblemSpec as Problem
from scenarios.schema.reproduction import FigureSpec as Figure
from scenarios.schema.reproduction import ReproducesSpec as Reproduces
from scenarios.schema.reproduction import VariantSpec as Variant
from scenarios.schema.scenario import AttackSpec as Attacks
from scenarios.schema.scenario import AuditSpec as Audit
from scenarios.schema.scenario import GradientChange, Scenario, TranscriptSpec, json_schema
from scenarios.schema.scenario import SearchSpec as Search
from scenarios.schema.scenario import TranscriptSpec as Transcript
from scenarios.schema.topologies import (
    BalancedTree,
    BarabasiAlbert,
    Complete,
    Edges,
    ErdosRenyi,
    GraphFile,
    Grid,
    Hypercube,
    Path,
    RandomGeometric,
    RandomRegular,
    RandomTree,
    Ring,
    Star,
    Torus,
    WattsStrogatz,
)

__all__ = [
    "Access",
    "Adult",
    "Adversary",
    "AlgorithmSpec",
    "Alter",
    "Around",
    "AtEnd",
    "AttackVerdict",
    "Attacks",
    "Audit",
    "BalancedTree",
    "Ball",
    "BarabasiAlbert",
    "Box",
    "BreastCancer",
    "BurstLoss",
    "CifarCatDog",
    "ClaimedAfter",
    "Clip",
    "Complete",
    "ConstantDelay",
    "ConstantValue",
    "CostTo",
    "Covtype",
    "Cpgt",
    "CsvFile",
    "Cut",
    "DAdmm",
    "DPRecalSpec",
    "Delay",
    "DiaDSP",
    "Digits",
    "DirichletSplit",
    "Dlg",
    "Dmsp",
    "Downtime",
    "DpAdmm",
    "DpRecal",
    "Dpp2",
    "Drop",
    "Edges",
    "EqualSplit",
    "ErdosRenyi",
    "ErrorAfter",
    "Exchange",
    "ExponentialDelay",
    "Extra",
    "Fact",
    "FashionMnist",
    "Figure",
    "Final",
    "FixedPoint",
    "FlippedSign",
    "Float16",
    "Float32",
    "Float64",
    "GaussianNoise",
    "Geometric",
    "GradInversion",
    "GradientChange",
    "GradientTracking",
    "GraphFile",
    "Grid",
    "Ground",
    "GroupedDescent",
    "Growth",
    "Hypercube",
    "Hypothesis",
    "IcAdmm",
    "Idlg",
    "Ijcnn1",
    "Informed",
    "InvertingGradients",
    "LabelSplit",
    "LibsvmFile",
    "LinkOverride",
    "LinkSpec",
    "Links",
    "LognormalDelay",
    "Measures",
    "Meddler",
    "Membership",
    "Messages",
    "Mnist",
    "MrAdmm",
    "NeighborRange",
    "Nids",
    "OptimumIsZero",
    "Other",
    "Outputs",
    "OutputsSpec",
    "Own",
    "OwnClaim",
    "Path",
    "PgExtra",
    "PlantedFault",
    "PoissonClock",
    "Polynomial",
    "PosteriorBatch",
    "Ppdc",
    "PrivateGradientDescent",
    "PrivateGradientDescentSpec",
    "Problem",
    "Property",
    "PureTarget",
    "Python",
    "Quantizer",
    "RAdmm",
    "Radio",
    "RandomGeometric",
    "RandomK",
    "RandomOutages",
    "RandomPenaltyAdmm",
    "RandomRegular",
    "RandomShare",
    "RandomTree",
    "Rebuilt",
    "Recal",
    "RecalSpec",
    "Replay",
    "Reproduces",
    "Ring",
    "RowSpace",
    "RwAdmm",
    "ScaleBy",
    "ScaledSign",
    "Scenario",
    "ScheduledOutages",
    "Search",
    "SecretSharing",
    "Sensors",
    "Slope",
    "Star",
    "Stddev",
    "Straggler",
    "Synthetic",
    "Target",
    "TopK",
    "Torus",
    "TraceDelay",
    "TraceLoss",
    "TraceOutages",
    "Transcript",
    "TranscriptSpec",
    "UniformDelay",
    "UniformDraws",
    "VacuousFrom",
    "Variant",
    "Verdict",
    "Walkman",
    "WattsStrogatz",
    "Within",
    "json_schema",
    "medium",
    "schedule",
]
