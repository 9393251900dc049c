# ruff: noqa: E501 - a table is easier read unbroken
"""Values of the field, told without a call of the program's: tensors, arrays, tables, data, models, optimizers and configs."""

from __future__ import annotations

import sys

import pytest

from tests.guest.test_invariance import same
from tests.guest.visit import project, visit

TORCH = pytest.importorskip("torch")
pytest.importorskip("numpy")

MAKES = '''
import numpy as np
import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset
from torch._subclasses.fake_tensor import FakeTensorMode

class Bad:
    def __get__(self, *_):
        raise SystemExit(9)

class MyTensor(torch.Tensor):
    shape = dtype = device = requires_grad = layout = Bad()

class MyArray(np.ndarray):
    shape = dtype = Bad()

class Shards(Dataset):
    def __init__(self):
        self.folder, self.shards = "data/", 4
    def __len__(self):
        raise SystemExit(9)
    __getitem__ = __len__

def spoilt(n, *bad, dtype=torch.float32):
    x = torch.ones(n, dtype=dtype)
    for at, value in enumerate(bad):
        x[at] = float(value)
    return x

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)).eval()
model[0].weight.requires_grad = False
adamw = torch.optim.AdamW([{"params": model[0].parameters(), "lr": 0.0}, {"params": model[1].parameters()}], lr=0.1)
pairs = TensorDataset(torch.zeros(7, 2))
with FakeTensorMode():
    fake = torch.empty(3, 4)
'''
TENSORS = {
    "spoilt(9000, 'nan', 'inf', '-inf')": "Tensor shape=(9000,) float32 cpu NaN=1/9000 Inf=2/9000 min=1 max=1",
    "spoilt(90, '-inf', dtype=torch.bfloat16)": "Tensor shape=(90,) bfloat16 cpu Inf=1/90 min=1 max=1",
    "spoilt(9, *['nan'] * 9)": "Tensor shape=(9,) float32 cpu NaN=9/9",
    "torch.ones(9, requires_grad=True)": "Tensor shape=(9,) float32 cpu requires_grad min=1 max=1",
    "torch.ones(9, dtype=torch.complex64)": "Tensor shape=(9,) complex64 cpu",
    "torch.empty(3, device='meta')": "Tensor shape=(3,) float32 meta (values not read: not plain CPU memory)",
    "fake": "FakeTensor shape=(3, 4) float32 cpu",
    "torch.eye(3).to_sparse()": "Tensor shape=(3, 3) float32 cpu sparse_coo nnz=3",
    "torch.ones(3).as_subclass(MyTensor)": "MyTensor shape=(3,) float32 cpu",
    "np.array([1.0] * 8 + [np.nan, np.inf])": "ndarray shape=(10,) float64 NaN=1/10 Inf=1/10 min=1 max=1",
    "np.ones(3).view(MyArray)": "MyArray shape=(3,) float64",
    "np.array([Shards(), 1], dtype=object)": "ndarray shape=(2,) object",
    "np.memmap('m', dtype='float32', mode='w+', shape=(4, 4))": "memmap shape=(4, 4) float32 of '{root}/m' (values not read: on disk)",
    "np.float32(3.5)": "float32(3.5)",
    "model": "torch.nn.modules.container.Sequential (nn.Module, 2 submodules, 30 parameters of float32 cpu, 16 frozen, training=False)",
    "pairs": "torch.utils.data.dataset.TensorDataset (Dataset, length 7: tensors=<tuple of 1>)",
    "Subset(Shards(), [1, 2])": "torch.utils.data.dataset.Subset (Dataset, length 2: dataset=Shards (Dataset: folder='data/', shards=4), indices=<list of 2>)",
    "ConcatDataset([pairs, pairs])": "torch.utils.data.dataset.ConcatDataset (Dataset, length 14: datasets=<list of 2>, cumulative_sizes=<list of 2>)",
    "Shards()": "Shards (Dataset: folder='data/', shards=4)",
}
PARTS = {
    "adamw": ["torch.optim.adamw.AdamW (2 tensors: lr=0.0, weight_decay=0.01, ", "; 2 tensors: lr=0.1, weight_decay=0.01, "],
    "torch.optim.lr_scheduler.StepLR(adamw, 3)": ["torch.optim.lr_scheduler.StepLR (step_size=3, gamma=0.1", "last_epoch=0"],
    "DataLoader(pairs, batch_size=2, shuffle=True, num_workers=2)": ["DataLoader(batch_size=2, num_workers=2, drop_last=False", "sampler=RandomSampler",
                                                                   "collate_fn=<function default_collate>", "dataset=torch.utils.data.dataset.TensorDataset"],
}


def told(tmp_path, makes: str, expressions) -> dict[str, str]:
    """Each expression's value, as a crash tells it."""
    names = {f"v{at}": each for at, each in enumerate(expressions)}
    program = f"{makes}\ndef f({', '.join(names)}):\n    raise ValueError\nf({', '.join(names.values())})"
    root = project(tmp_path, {"a.py": program})
    done = visit(root, "a.py")
    assert not list(done.log.of("hookerr")), list(done.log.of("hookerr"))
    exc = next(iter(done.log.of("exc")))["exc"]
    assert exc["type"] == "ValueError", done.done.stderr
    return {names[name]: text for name, text in exc["frames"][-1]["vars"].items()}


def test_what_torch_and_numpy_hold_is_told_in_a_line_each(tmp_path):
    expected = {each: text.format(root=tmp_path / "project") for each, text in TENSORS.items()}
    assert told(tmp_path, MAKES, TENSORS) == expected


def test_training_and_loading_are_told_by_what_a_person_would_ask(tmp_path):
    seen = told(tmp_path, MAKES, PARTS)
    assert [part for each, parts in PARTS.items() for part in parts if part not in seen[each]] == []


def test_tables_are_told_with_their_nulls(tmp_path):
    pytest.importorskip("pandas")
    makes = ("import pandas as pd\nclass Mine(pd.DataFrame):\n    @property\n    def shape(self):\n        raise SystemExit(9)\n"
             "df = pd.DataFrame({'a': [1.0, None, 3], 'b': [1, 2, 3]})")
    assert told(tmp_path, makes, ["df", "df['a']", "Mine(df)", "pd.Series(range(20))"]) == {
        "df": "DataFrame shape=(3, 2) cols=[a:float64 null=1, b:int64]", "df['a']": "Series shape=(3,) float64 null=1/3 values=[1.0, nan, 3.0]",
        "Mine(df)": "Mine (a DataFrame)", "pd.Series(range(20))": "Series shape=(20,) int64 min=0 max=19"}


def test_sparse_matrices_of_scipy_are_told(tmp_path):
    pytest.importorskip("scipy")
    seen = told(tmp_path, "import numpy as np, scipy.sparse as sp", ["sp.csr_matrix(np.eye(3))", "sp.coo_array(np.eye(20))"])
    assert list(seen.values()) == ["csr_matrix shape=(3, 3) nnz=3 of shape=(3,) float64 values=[1.0, 1.0, 1.0]",
                                   "coo_array shape=(20, 20) nnz=20 of shape=(20,) float64 min=1 max=1"]


KEY = "sk-" + "a1B2" * 8
CONFIGS = f'''
import argparse, dataclasses, enum, pathlib, types
class Mode(enum.Enum):
    FAST = 1
@dataclasses.dataclass
class TrainConfig:
    lr: float = 0.1
    mode: Mode = Mode.FAST
    api_key: str = "{KEY}"
    out: pathlib.Path = pathlib.Path("/tmp/x")
class Config(dict):
    def __getattr__(self, name):
        raise SystemExit(9)
    items = keys = __iter__ = __getattr__
class Trainer:
    def __init__(self):
        self.hparams = types.SimpleNamespace(lr=0.5, depth=2)
    def fit(self, args, cfg, plain, config):
        batch = {{"x": 1}}
        raise ValueError
args = argparse.Namespace(wandb_api_key="{KEY}", **{{f"k{{n}}": n for n in range(40)}})
Trainer().fit(args, TrainConfig(), Config(lr=0.3, model=Config(dim=4)), {{"data": {{"root": "d/", "sizes": [1, 2]}}}})
'''


def test_a_config_is_told_in_full_and_without_its_secrets(tmp_path):
    done = visit(project(tmp_path, {"a.py": CONFIGS}), "a.py")
    assert "ValueError" in done.done.stderr
    seen = {each.source.partition(" ")[0]: dict(each.values) for each in done.story.configs}
    assert done.story.configs[1].source == "cfg (TrainConfig), a variable at a.py:20 in Trainer.fit"
    assert seen["args"] == {"wandb_api_key": "‹key:32-63›", **{f"k{n}": str(n) for n in range(40)}}
    assert seen["cfg"] == {"lr": "0.1", "mode": "Mode.FAST", "api_key": "‹key:32-63›", "out": "PosixPath('/tmp/x')"}
    assert seen["plain"] == {"lr": "0.3", "model.dim": "4"}
    assert seen["config"] == {"data.root": "'d/'", "data.sizes": "[1, 2]"}
    assert seen["self.hparams"] == {"lr": "0.5", "depth": "2"}
    assert "batch" not in seen and KEY not in "".join(path.read_text() for path in done.spool.iterdir())


def test_configs_of_libraries_are_read_without_resolving_them(tmp_path):
    pytest.importorskip("omegaconf")
    pytest.importorskip("pydantic")
    program = ("import omegaconf, pydantic\nclass Settings(pydantic.BaseModel):\n    lr: float = 0.1\n    password: str = 'hunter2hunter2'\n"
               "def f(cfg, settings):\n    raise ValueError\n"
               "f(omegaconf.OmegaConf.create({'data': {'dim': 4, 'x': '${nowhere.dim}', 'l': [1, 2]}, 'lr': 0.1}), Settings())")
    seen = {each.source.partition(" ")[0]: dict(each.values) for each in visit(project(tmp_path, {"a.py": program}), "a.py").story.configs}
    assert seen == {"cfg": {"data.dim": "4", "data.x": "'${nowhere.dim}'", "data.l": "[1, 2]", "lr": "0.1"},
                    "settings": {"lr": "0.1", "password": "‹password:8-15›"}}


HOSTILE = '''
import sys, torch
from unittest.mock import Mock, MagicMock
class Loud:
    def __getattribute__(self, name):
        print("asked for", name)
        return object.__getattribute__(self, name)
    def __repr__(self):
        print("repr")
        sys.exit(9)
    __len__ = __iter__ = __bool__ = __eq__ = __hash__ = __repr__
class Meta(type):
    def __getattribute__(cls, name):
        print("class asked for", name)
        return type.__getattribute__(cls, name)
    def __instancecheck__(cls, other):
        print("instancecheck")
        return True
class Odd(metaclass=Meta):
    __slots__ = ("a",)
class T(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *args, **kwargs):
        print("torch function")
        return super().__torch_function__(*args, **kwargs)
def f(**kw):
    mock, magic, loud, odd, t = kw["mock"], kw["magic"], kw["loud"], kw["odd"], kw["t"]
    raise ValueError("x")
t = torch.ones(3).as_subclass(T)
odd = Odd()
print("begin")
f(mock=Mock(), magic=MagicMock(), loud=Loud(), odd=odd, t=t)
'''


def test_no_code_of_the_programs_is_called(tmp_path):
    root = project(tmp_path, {"a.py": HOSTILE})
    same(root, sys.executable, ["a.py"], {})
    done = visit(root, "a.py", name="again")
    assert done.done.stdout.endswith("begin\n")
    told = next(iter(done.log.of("exc")))["exc"]["frames"][-1]["vars"]
    assert (told["loud"], told["odd"], told["t"]) == ("<Loud>", "<Odd>", "T shape=(3,) float32 cpu")
