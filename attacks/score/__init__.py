"""The only room where an estimate meets the truth: what was inferred against what was so."""

from attacks.score.inference import (
    Covered,
    GradientScore,
    TrafficScore,
    calibration,
    computing_times,
    score_gradients,
    score_traffic,
)
from attacks.score.records import RecordScore, psnr, score_image, score_records, ssim, success

__all__ = [
    "Covered", "GradientScore", "RecordScore", "TrafficScore", "calibration", "computing_times", "psnr",
    "score_gradients", "score_image", "score_records", "score_traffic", "ssim", "success",
]  # fmt: skip
