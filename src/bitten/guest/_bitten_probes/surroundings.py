"""The environment as a recording has it: versions, what the processor can do, threads, flags of determinism. Imports nothing."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
tape: Any = hook.load("_bitten_probes.tape")

VARIABLES = ("PYTHONHASHSEED", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "CUBLAS_WORKSPACE_CONFIG",
             "CUDA_VISIBLE_DEVICES", "ATEN_CPU_CAPABILITY", "NVIDIA_TF32_OVERRIDE", "PYTHONOPTIMIZE", "LANG", "LC_ALL", "TZ")
FLAGS: Any = {
    "cpu capability": lambda torch: torch.backends.cpu.get_cpu_capability(),
    "threads": lambda torch: torch.get_num_threads(),
    "default dtype": lambda torch: str(torch.get_default_dtype()),
    "deterministic algorithms": lambda torch: torch.are_deterministic_algorithms_enabled(),
    "matmul precision": lambda torch: torch.get_float32_matmul_precision(),
    "cudnn benchmark": lambda torch: torch.backends.cudnn.benchmark,
    "cudnn deterministic": lambda torch: torch.backends.cudnn.deterministic,
    "tf32 in matmul": lambda torch: torch.backends.cuda.matmul.allow_tf32,
    "tf32 in cudnn": lambda torch: torch.backends.cudnn.allow_tf32,
    "anomaly mode": lambda torch: torch.is_anomaly_enabled(),
    "gpu": lambda torch: torch.cuda.get_device_name() if torch.cuda.is_initialized() else "",
    "mkl": lambda torch: torch.backends.mkl.is_available(),
}
"""Asked of torch where it is there; an old one has not all of them."""


def tell() -> None:
    _value("python", "{}.{}.{}".format(*sys.version_info[:3]))
    for name, version in sorted(_versions()):
        _value("package " + name, version)
    for name in VARIABLES:
        if name in os.environ:
            _value("variable " + name, os.environ[name][:80])
    torch = sys.modules.get("torch")
    for name, ask in FLAGS.items() if torch is not None else ():
        try:
            _value("torch " + name, ask(torch))
        except Exception:  # a version that has no such flag
            continue


def _value(key: str, value: Any) -> None:
    tape.mark("environment", key, value=value if isinstance(value, (bool, int, float)) else str(value), step=0)


def _versions() -> Any:
    """Of what is imported by now, from its own `__version__`: nothing is searched for."""
    for name, module in list(sys.modules.items()):
        if "." not in name and type(module) is type(sys):
            version = module.__dict__.get("__version__")
            if type(version) is str or type(version).__name__ == "TorchVersion":
                yield name, str(version)[:60]
