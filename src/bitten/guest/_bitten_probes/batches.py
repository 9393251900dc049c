"""What comes in: batches of loaders and inputs of outermost modules, in shapes, values, identity and order.

Three parts do the work: features.py (values by feature, training against inference), served.py (which samples, how often, shared by whom)
and labels.py. Whether an input belongs to its label can't be seen from here.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
patches: Any = hook.load("_bitten_patches")
features: Any = hook.load("_bitten_probes.features")
served: Any = hook.load("_bitten_probes.served")

FACTS = {
    "batches.loaders": {
        "says": "DataLoaders that handed out a batch in this process", "unit": "loaders", "threshold": "", "source": "",
        "misfires": "at most 32 are followed",
    },
    "batches.epochs": {"says": "passes over a loader", "unit": "passes", "threshold": "", "source": "", "misfires": ""},
    "batches.batches": {
        "says": "batches of a loader's first pass, or of the longest that was watched", "unit": "batches", "threshold": "", "source": "",
        "misfires": "",
    },
    "batches.samples": {
        "says": "samples of that pass", "unit": "samples", "threshold": "", "source": "",
        "misfires": "a pass that the program broke off counts as far as it went",
    },
    "batches.workers": {"says": "worker processes of a loader", "unit": "workers", "threshold": "", "source": "", "misfires": ""},
    "batches.shapes": {"says": "dtype and shape of a sample's parts", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "batches.batches_of_one": {
        "says": "batches that held one sample", "unit": "batches", "threshold": "", "source": "",
        "misfires": "counted in watched passes only",
    },
    "batches.used_for": {
        "says": "training where an optimizer stepped between the loader's batches, evaluation where modules were called without gradients",
        "unit": "training, evaluation or neither", "threshold": "", "source": "",
        "misfires": "several batches a step count for the last loader",
    },
    "batches.repeated_share": {
        "says": "share of a first pass's samples that had come before in it, all parts taken together", "unit": "share of 1",
        "threshold": "", "source": "", "misfires": "64 elements of each part make a sample's key; some thousand samples are counted",
    },
    "batches.never_served": {
        "says": "samples of a map-style dataset whose index the last pass did not ask for", "unit": "samples", "threshold": "",
        "source": "", "misfires": "a sampler of a subset, with replacement or of one rank leaves samples out on purpose",
    },
    "batches.times_served": {
        "says": "how often each sample of an iterable dataset came in one pass", "unit": "times",
        "threshold": "a multiple of the workers for every one of at least 20 samples",
        "source": "ours: natural repeats aren't all multiples",
        "misfires": "a stream that is repeated on purpose as often as there are workers",
    },
    "batches.distinct_samples": {
        "says": "samples of that pass that differ", "unit": "samples", "threshold": "", "source": "", "misfires": "",
    },
    "batches.same_order": {
        "says": "two passes on end gave their samples in the same order", "unit": "true or false",
        "threshold": "true for a sampler that shuffles, at least 20 samples, and both passes train by one optimizer",
        "source": "DistributedSampler's documentation: without set_epoch the same ordering is always used",
        "misfires": "a program that wants every pass alike, though it shuffles",
    },
    "batches.sampler": {"says": "the class of the loader's sampler", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "batches.overlapping_loaders": {
        "says": "pairs of a training and an evaluating loader that share samples past the threshold", "unit": "pairs", "threshold": "",
        "source": "", "misfires": "",
    },
    "batches.shared_share": {
        "says": "share of an evaluating loader's samples that are the training loader's too", "unit": "share of 1",
        "threshold": "0.1 to 0.95, or more where the loader's name says that it was held out",
        "source": "ours: evaluating on all of training's samples is often meant, on a part of them never",
        "misfires": "repeated rows that a data set has by nature; asked only where 98 % of either loader's samples differ",
    },
    "batches.shared_by": {"says": "how samples were compared", "unit": "index or value", "threshold": "", "source": "", "misfires": ""},
    "batches.classes_renumbered": {
        "says": "classes that two datasets, one training and one evaluating, number differently under one attribute", "unit": "classes",
        "threshold": "1, where at least half of the classes are in both", "source": "ours: a name's number is a convention of both sides",
        "misfires": "an attribute that is not what labels are made from",
    },
    "batches.label_min": {"says": "smallest label of a loader", "unit": "class", "threshold": "", "source": "", "misfires": ""},
    "batches.label_max": {"says": "largest label of a loader", "unit": "class", "threshold": "", "source": "", "misfires": ""},
    "batches.classes": {
        "says": "distinct labels of a loader", "unit": "classes", "threshold": "", "source": "",
        "misfires": "the first part of a batch that is one whole number a sample is taken for the label",
    },
    "batches.label_counts": {
        "says": "how often each label came, the 20 commonest", "unit": "samples", "threshold": "", "source": "", "misfires": "",
    },
    "batches.imbalance": {
        "says": "commonest label's count over the rarest's", "unit": "ratio", "threshold": "a hint above 10, over at least 500 labels",
        "source": "SageMaker Debugger's ClassImbalance", "misfires": "data that are so by nature",
    },
    "batches.label_turns": {
        "says": "how often the label changed from one sample to the next", "unit": "times",
        "threshold": "a hint at no more than the classes", "source": "ours: sorted labels change once a class",
        "misfires": "a stream that comes so by nature",
    },
    "batches.phase": {
        "says": "whether the calls had gradients and training mode", "unit": "training or inference", "threshold": "", "source": "",
        "misfires": "evaluation in training mode with gradients counts as training",
    },
    "batches.input_dtype": {"says": "dtype of an input of the outermost module", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "batches.input_min": {
        "says": "least value of that input", "unit": "", "threshold": "", "source": "", "misfires": "of the calls measured",
    },
    "batches.input_max": {
        "says": "greatest value of that input", "unit": "", "threshold": "a hint for images of whole numbers from 0 to above 16",
        "source": "ours: images of bytes that nobody scaled", "misfires": "networks that scale by themselves",
    },
    "batches.input_mean": {"says": "mean over the features of that input", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "batches.inputs_with_nan": {
        "says": "measured calls whose input had a NaN or an Inf", "unit": "calls", "threshold": "", "source": "", "misfires": "",
    },
    "batches.constant_features": {
        "says": "features that never varied", "unit": "features", "threshold": "", "source": "", "misfires": "64 features are followed",
    },
    "batches.duplicate_features": {
        "says": "features with the very mean and spread of another", "unit": "features", "threshold": "", "source": "",
        "misfires": "see the one before",
    },
    "batches.scales_ratio": {
        "says": "largest spread of a feature over the smallest", "unit": "ratio", "threshold": "a hint above 1000 for tables",
        "source": "ours: gradient descent crawls along the small ones", "misfires": "models that are blind to scale, or normalise first",
    },
    "batches.skewed_inputs": {
        "says": "inputs that inference prepares otherwise than training", "unit": "inputs", "threshold": "", "source": "", "misfires": "",
    },
    "batches.means_apart": {
        "says": "distance of inference's mean from training's", "unit": "standard deviations of training",
        "threshold": "10, for more than half of the features", "source": "ours: a shift of the world is rarely so far",
        "misfires": "probing a model far outside its data on purpose",
    },
    "batches.spreads_ratio": {
        "says": "inference's spread over training's, or the reverse", "unit": "ratio",
        "threshold": "20, for more than half of the features", "source": "ours: scaling by 255 or a standard deviation left out lies above",
        "misfires": "see the one before",
    },
    "batches.features_apart": {"says": "features past one of these two", "unit": "features", "threshold": "", "source": "", "misfires": ""},
    "batches.training_range": {"says": "least and greatest value in training", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "batches.inference_range": {"says": "least and greatest value in inference", "unit": "", "threshold": "", "source": "", "misfires": ""},
}  # fmt: skip


def install() -> None:
    bus.listen("batches", batch=served.batch, root_pre=served.called, root_post=features.look, step_post=served.stepped,
               forked=_forked, end=_end)
    patches.on_import("torch.utils.data.dataloader",
                      lambda module: bus.wrap("batches", module._BaseDataLoaderIter, "_next_index", None, served.indexed))
    patches.on_import("torch.utils.data.dataset", _births)


def _births(module: Any) -> None:
    for kind in ("TensorDataset", "Subset", "ConcatDataset"):
        bus.wrap("batches", getattr(module, kind), "__init__", None, _made)


def _made(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    bus.note_birth(args[0], report.here())


def _forked() -> None:
    served.forked()
    features.forked()


def _end() -> None:
    facts = {**served.conclude(), **features.conclude()}
    if served.is_used() or features.is_used():
        report.fact("batches", "summary", facts)
