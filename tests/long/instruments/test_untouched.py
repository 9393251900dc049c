"""Under every instrument at once a program computes what it computes alone: losses, weights, optimizers, random states, bit by bit."""

from __future__ import annotations

import pytest

from bitten.adapters.vocabulary import names
from tests.guest.visit import bare_environment, run
from tests.instruments.stage import Probed, probed_alone

HEAD = '''
import hashlib, random
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3); np.random.seed(3); random.seed(3); torch.set_num_threads(1)
losses = []

def told(**kept):
    """Everything that a later line could hang on."""
    all_of = hashlib.sha256()
    def add(it):
        if isinstance(it, torch.Tensor):
            all_of.update(it.detach().numpy().tobytes())
        elif isinstance(it, dict):
            for key, each in it.items():
                all_of.update(repr(key).encode()); add(each)
        elif isinstance(it, (list, tuple)):
            for each in it:
                add(each)
        else:
            all_of.update((it.hex() if isinstance(it, float) else repr(it)).encode())
    for name, each in kept.items():
        add(each)
        print(name, all_of.hexdigest())
    states = repr((random.getstate(), np.random.get_state())).encode()
    print("random", hashlib.sha256(torch.get_rng_state().numpy().tobytes() + states).hexdigest())

'''

PROGRAMS = {
    "an MLP with dropout, evaluated in between": '''
model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 5))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 40)
loader = DataLoader(TensorDataset(torch.randn(96, 20), torch.randint(0, 5, (96,))), batch_size=16, shuffle=True)
for epoch in range(8):
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        losses.append(sum(F.cross_entropy(model(x), y).item() for x, y in loader))
    model.train()
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "kept.pt")
model.load_state_dict(torch.load("kept.pt")["model"])
hooks = [len(each._forward_hooks) for each in model]
told(losses=losses, model=model.state_dict(), optimizer=optimizer.state_dict(), keys=list(model.__dict__), hooks=hooks)
''',
    "a CNN with batch norm, its loader with workers that augment": '''
class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 48
    def __getitem__(self, item):
        return torch.randn(3, 8, 8) + random.random() + np.random.rand(), item % 4
if __name__ == "__main__":
    features = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1))
    model = nn.Sequential(features, nn.Flatten(), nn.Linear(8, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    loader = DataLoader(Images(), batch_size=8, shuffle=True, num_workers=2, persistent_workers=True)
    for epoch in range(3):
        for x, y in loader:
            optimizer.zero_grad(set_to_none=False)
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    told(losses=losses, model=model.state_dict(), optimizer=optimizer.state_dict())
''',
    "half precision under a scaler that skips steps": '''
model = nn.Sequential(nn.Linear(20, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24, growth_interval=8)
for step in range(30):
    x, y = torch.randn(16, 20), torch.randint(0, 5, (16,))
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    losses.append(loss.item())
told(losses=losses, model=model.state_dict(), scaler=scaler.state_dict())
''',
    "gradients of four micro-batches, saved in between": '''
model = nn.Sequential(nn.Linear(20, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adagrad(model.parameters(), lr=1e-2)
for step in range(48):
    x = torch.randn(8, 20)
    loss = F.mse_loss(model(x).squeeze(-1), x.sum(-1)) / 4
    loss.backward(retain_graph=step % 5 == 0)
    if step % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
    losses.append(loss.item())
told(losses=losses, model=model.state_dict(), grads=[each.grad is None for each in model.parameters()])
''',
    "a recurrent net with a hidden state and a closure": '''
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.lstm, self.head = nn.Embedding(17, 12), nn.LSTM(12, 16, 2, batch_first=True, dropout=0.2), nn.Linear(16, 17)
    def forward(self, ids, state=None):
        out, state = self.lstm(self.embed(ids), state)
        return self.head(out), state
model = Net()
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3)
words, state = torch.randint(0, 17, (4, 60)), None
for at in range(0, 50, 10):
    def closure():
        global kept
        optimizer.zero_grad()
        out, kept = model(words[:, at:at + 10], state)
        loss = F.cross_entropy(out.flatten(0, 1), words[:, at + 1:at + 11].flatten())
        loss.backward()
        losses.append(loss.item())
        return loss
    optimizer.step(closure)
    state = tuple(each.detach() for each in kept)
told(losses=losses, model=model.state_dict(), state=state)
''',
    "two optimizers, gradients of gradients, a NaN in the ninth step": '''
real, fake = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1)), nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 6))
judges, forgers = torch.optim.RMSprop(real.parameters(), lr=1e-3), torch.optim.Adam(fake.parameters(), lr=1e-3)
for step in range(14):
    x = torch.randn(8, 6)
    if step == 8:
        x[2, 1] = float("nan")
    x.requires_grad_(True)
    judges.zero_grad()
    score = real(x)
    slope = torch.autograd.grad(score.sum(), x, create_graph=True)[0]
    loss = F.softplus(-score).mean() + F.softplus(real(fake(torch.randn(8, 4)).detach())).mean() + (slope.norm(dim=-1) - 1).pow(2).mean()
    loss.backward()
    judges.step()
    forgers.zero_grad()
    fooled = F.softplus(-real(fake(torch.randn(8, 4)))).mean()
    fooled.backward()
    forgers.step()
    losses += [loss.item(), fooled.item()]
told(losses=losses, real=real.state_dict(), fake=fake.state_dict())
''',
    "scikit-learn and pandas": '''
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
rows = pd.DataFrame(np.random.randn(200, 6), columns=list("abcdef"))
rows["g"] = rows["a"] / rows["b"].where(rows["b"] > 0)
labels = (rows["a"] + np.random.randn(200) > 0).astype(int)
joined = rows.join(labels.rename("label").iloc[::-1]).fillna(rows.mean())
train, test, y_train, y_test = train_test_split(joined.drop(columns="label"), joined["label"], stratify=joined["label"])
model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5)).fit(train, y_train)
forest = RandomForestClassifier(20).fit(train, y_train)
scores = cross_val_score(RandomForestClassifier(10), train, y_train, cv=StratifiedKFold(4, shuffle=True))
told(model=model[-1].coef_.tobytes(), forest=forest.predict_proba(test).tobytes(), scores=scores.tobytes())
told(kept=sorted(vars(model)), rows=joined.to_csv())
''',
}


def alone(tmp_path, source):
    root = tmp_path / "alone"
    root.mkdir(exist_ok=True)
    (root / "main.py").write_text(source)
    done = run(root, {**bare_environment(), "OMP_NUM_THREADS": "1"}, "python", "main.py")
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.replace(str(root), "")


def shown(probed: Probed) -> tuple[str, str]:
    return probed.stdout, probed.stderr.replace(str(probed.root), "")


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_number_is_the_same_under_all_instruments(tmp_path, name):
    source = HEAD + PROGRAMS[name]
    once, again = alone(tmp_path, source), alone(tmp_path, source)
    assert once == again, "alone it differs already: nothing can be said"
    probed = probed_alone(tmp_path, source, *names(), "recording")
    assert probed.exit == 0
    assert shown(probed) == once
    assert probed.troubles == []
    assert {each for armed in probed.log.of("armed") for each in armed["probes"]} == {*names(), "recording"}


def test_a_number_that_is_not_the_same_is_seen(tmp_path):
    """A changed learning rate, which is what an instrument that touches the program would be like."""
    source = HEAD + PROGRAMS["an MLP with dropout, evaluated in between"]
    changed = probed_alone(tmp_path, source, *names(), turns=("lr=1.0001",), env={"BITTEN_COPY": "1"})
    assert shown(changed) != alone(tmp_path, source)
