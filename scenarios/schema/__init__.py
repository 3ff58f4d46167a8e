# pyright: reportUnusedImport=false
"""Models of a scenario: one experiment as data, in the same words in YAML and in Python.

Every model is closed (an unknown field is an error), frozen, and knows how to build what it describes. Numbers
carry their bounds here; what depends on other parts (a step against the smoothness, a tap against the graph)
is checked where the parts meet, before time 0, as a `ScenarioError` with the path of the field. Everything a file can
hold has a name here: `topology: {kind: ring, agents: 8}` is `topology=Ring(agents=8)`.
"""

from scenarios.schema.algorithms import (
    BallSpec as Ball, BoxSpec as Box, ClipSpec as Clip, CpgtSpec as Cpgt, DAdmmSpec as DAdmm,
    DecorSpec as Decor, DiaDSPSpec as DiaDSP, DmspSpec as Dmsp, DpAdmmSpec as DpAdmm, Dpp2Spec as Dpp2,
    DPRecalSpec as DpRecal, EdgePerturbationSpec as EdgePerturbation, ExactDiffusionSpec as ExactDiffusion,
    ExtraSpec as Extra, GeometricSpec as Geometric, GradientTrackingSpec as GradientTracking, Ground,
    GroupedDescentSpec as GroupedDescent, IcAdmmSpec as IcAdmm, LaplacianConsensusSpec as LaplacianConsensus,
    MrAdmmSpec as MrAdmm, MuffliatoSpec as Muffliato, MuffliatoDescentSpec as MuffliatoDescent,
    NeighborRangeSpec as NeighborRange, NidsSpec as Nids, PgExtraSpec as PgExtra,
    PlantedFaultSpec as PlantedFault, PolynomialSpec as Polynomial, PpdcSpec as Ppdc,
    PrivateGradientDescentSpec as PrivateGradientDescent, PureTarget, RAdmmSpec as RAdmm,
    RandomPenaltyAdmmSpec as RandomPenaltyAdmm, RecalSpec as Recal, RwAdmmSpec as RwAdmm,
    SecretSharingSpec as SecretSharing, StateDecompositionSpec as StateDecomposition, Stddev,
    SubspacePerturbationSpec as SubspacePerturbation, Target, UniformDrawsSpec as UniformDraws,
    WalkmanSpec as Walkman, ZeroSumNoiseSpec as ZeroSumNoise, ZipDLSpec as ZipDL,
)  # fmt: skip
from scenarios.schema.attacks import (
    DlgSpec as Dlg, GradInversionSpec as GradInversion, HypothesisSpec as Hypothesis, IdlgSpec as Idlg,
    InformedSpec as Informed, InvertingGradientsSpec as InvertingGradients, MembershipSpec as Membership,
    OwnSpec as Own, PosteriorBatchSpec as PosteriorBatch, PropertySpec as Property, RowSpaceSpec as RowSpace,
)  # fmt: skip
from scenarios.schema.checks import (
    AtEnd, AttackVerdict, ClaimedAfter, CostTo, ErrorAfter, Fact, FigureSpec as Figure, Final, Growth,
    MeasureSpec as Measures, OptimumIsZero, Other, Rebuilt, ReproducesSpec as Reproduces, Slope, VacuousFrom,
    VariantSpec as Variant, Verdict,
)  # fmt: skip
from scenarios.schema.world import (
    AccessSpec as Access, ActiveAdversarySpec as ActiveAdversary, AdversarySpec as Adversary,
    AlterSpec as Alter, AroundSpec as Around, BalancedTree, BarabasiAlbert, BurstLoss, Complete, ConstantDelay,
    ConstantValue, CutSpec as Cut, DelaySpec as Delay, DowntimeSpec as Downtime, DropSpec as Drop, Edges,
    ErdosRenyi, ExchangeSpec as Exchange, ExponentialDelay, FixedPoint, FlippedSign, Float16, Float32, Float64,
    GaussianNoise, GraphFile, Grid, Hypercube, LinkOverride, LinkSpec as Links, LognormalDelay,
    MessageSpec as Messages, Path, PoissonClockSpec as PoissonClock, Quantizer, RadioSpec as Radio,
    RandomGeometric, RandomK, RandomOutages, RandomRegular, RandomShareSpec as RandomShare, RandomTree,
    ReplaySpec as Replay, Ring, ScaleBy, ScaledSign, ScheduledOutages, Star, StragglerSpec as Straggler, TopK,
    Torus, TraceDelay, TraceLoss, TraceOutages, UniformDelay, WattsStrogatz, WithinSpec as Within,
)  # fmt: skip
from scenarios.schema.own import AlgorithmSpec, OwnClaim
from scenarios.schema.own import PythonSpec as Python
from scenarios.schema.world import (
    Adult, BreastCancer, CifarCatDog, Covtype, CsvFile, Digits, DirichletSplit, ElasticNetSpec as ElasticNet,
    EqualSplit, FashionMnist, FusedLassoSpec as FusedLasso, Ijcnn1, LabelSplit, LibsvmFile, LInfSpec as LInf,
    Mnist, ProblemSpec as Problem, Sensors, Synthetic,
)  # fmt: skip
from scenarios.schema.scenario import (
    AttackSpec as Attacks, AuditSpec as Audit, GradientChange, json_schema, OutputsSpec as Outputs, Scenario,
    SearchSpec as Search, TranscriptSpec as Transcript, ViewsSpec as Views,
)  # fmt: skip
