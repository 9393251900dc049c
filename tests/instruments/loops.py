"""Small training loops, broken in one place or healthy, for the tests of what watches optimizers. The line at fault ends in `# <- here`."""

from __future__ import annotations

HEAD = """
import copy, torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
x, y = torch.randn(64, 6), torch.randn(64, 2)

def mlp():
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2))

def steps(net, opt, n=12, every=None):
    for i in range(n):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        if every:
            every(i)
    return loss.item()
"""
TAIL = """
print("done", all(bool(torch.isfinite(each).all()) for each in [x, y]))
"""

BROKEN = {
    "thrown": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1)
for i in range(8):
    for part in range(4):
        net.zero_grad()  # <- here
        (F.mse_loss(net(x[part::4]), y[part::4]) / 4).backward()
    opt.step()
""",
    "lost": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1)
for i in range(8):
    F.mse_loss(net(x), y).backward()
    opt.zero_grad()  # <- here
    opt.step()
""",
    "kept": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.001)
for i in range(8):
    F.mse_loss(net(x), y).backward()
    opt.step()  # <- here
""",
    "unstepped": """
net = mlp()
opt = torch.optim.Adam(net.parameters(), 0.1)  # <- here
for i in range(8):
    opt.zero_grad(); F.mse_loss(net(x), y).backward(); opt.step
""",
    "anew": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1)
def total(parts):
    return torch.tensor([sum(parts)], requires_grad=True)  # <- here
for i in range(8):
    opt.zero_grad(); total([F.mse_loss(net(x), y).item()]).backward(); opt.step()
""",
    "no_gradient": """
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 2)
    def forward(self, x):
        with torch.no_grad():
            return self.b(torch.tanh(self.a(x)))
net, gate = Net(), nn.Parameter(torch.ones(()))
opt = torch.optim.SGD(net.parameters(), 0.1)
for i in range(8):
    opt.zero_grad()
    F.mse_loss(gate * net(x), y).backward()  # <- here
    opt.step()
""",
    "clip_scaled": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1); scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for i in range(8):
    opt.zero_grad()
    scaler.scale(F.mse_loss(net(x), y)).backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # <- here
    scaler.step(opt); scaler.update()
""",
    "clip_scaled by hand": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1)
for i in range(12):
    opt.zero_grad()
    (512 * F.mse_loss(net(x), y)).backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # <- here
    for each in net.parameters():
        each.grad.div_(512)
    opt.step()
""",
    "anew_term": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1)
for i in range(8):
    weight = sum(each.abs().sum().item() for each in net.parameters())
    penalty = torch.tensor(weight, requires_grad=True)  # <- here
    opt.zero_grad(); (F.mse_loss(net(x), y) + 0.01 * penalty).backward(); opt.step()
""",
    "clip_empty": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1)
for i in range(8):
    opt.zero_grad()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # <- here
    F.mse_loss(net(x), y).backward(); opt.step()
""",
    "clip_late": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1)
for i in range(8):
    opt.zero_grad(); F.mse_loss(net(x), y).backward(); opt.step()
    nn.utils.clip_grad_norm_(list(net.parameters()), 1.0)  # <- here
""",
    "scaled_step": """
net = mlp(); opt = torch.optim.Adam(net.parameters(), 0.01); scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for i in range(8):
    opt.zero_grad()
    scaler.scale(F.mse_loss(net(x), y)).backward()
    opt.step()  # <- here
    scaler.update
""",
    "unscaled_loss": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1); scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for i in range(8):
    opt.zero_grad()
    loss = F.mse_loss(net(x), y)
    scaler.scale(loss)
    loss.backward()
    scaler.step(opt)  # <- here
    scaler.update()
""",
    "unheld": """
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.encoder, self.decoder = nn.Linear(6, 8), nn.Linear(8, 2)
    def forward(self, x):
        return self.decoder(torch.tanh(self.encoder(x)))
net = Net()
opt = torch.optim.SGD(net.encoder.parameters(), 0.1)  # <- here
steps(net, opt)
""",
    "late": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1)
net.add_module("head", nn.Linear(2, 2))  # <- here
steps(net, opt)
""",
    "stranger": """
net = mlp()
opt = torch.optim.SGD(copy.deepcopy(net).parameters(), 0.1)  # <- here
steps(net, opt)
""",
    "unregistered": """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)
    def forward(self, x):
        return x + torch.tanh(self.lin(x))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(6, 8)
        self.blocks = [Block() for _ in range(3)]  # <- here
        self.out = nn.Linear(8, 2)
    def forward(self, x):
        x = self.inp(x)
        for each in self.blocks:
            x = each(x)
        return self.out(x)
net = Net(); steps(net, torch.optim.SGD(net.parameters(), 0.1))
""",
    "unregistered tensor": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(6, 2)
        self.scale = torch.ones(2, requires_grad=True)  # <- here
    def forward(self, x):
        return self.lin(x) * self.scale
net = nn.Sequential(nn.Identity(),
    Net())
steps(net, torch.optim.SGD(net.parameters(), 0.1))
""",
    "shared": """
body = nn.ModuleList([nn.Linear(8, 8)] * 4)  # <- here
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.inp, self.body, self.out = nn.Linear(6, 8), body, nn.Linear(8, 2)
    def forward(self, x):
        x = self.inp(x)
        for each in self.body:
            x = torch.tanh(each(x))
        return self.out(x)
net = Net(); steps(net, torch.optim.SGD(net.parameters(), 0.1))
""",
    "frozen": """
net = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.Linear(8, 2))
for each in net:
    if not isinstance(each, nn.LayerNorm):
        each.requires_grad_(False)  # <- here
steps(net, torch.optim.SGD([each for each in net.parameters() if each.requires_grad], 0.1))
""",
    "frozen head": """
state = nn.Sequential(nn.Linear(6, 8), nn.Linear(8, 8)).state_dict()
net = nn.Sequential(nn.Linear(6, 8), nn.Linear(8, 8))
net.load_state_dict(state)
net.append(nn.Linear(8, 2))
for name, each in net.named_parameters():
    each.requires_grad = name.startswith("1")  # <- here
steps(net, torch.optim.SGD([each for each in net.parameters() if each.requires_grad], 0.1))
""",
    "moving": """
net = mlp()
opt = torch.optim.SGD(net.parameters(), 0.1, weight_decay=0.01)  # <- here
F.mse_loss(net(x), y).backward()
net[0].requires_grad_(False)
for i in range(12):
    opt.zero_grad(set_to_none=False); F.mse_loss(net(x), y).backward(); opt.step()
""",
    "still": """
net = mlp().to(torch.bfloat16); x, y = x.bfloat16(), y.bfloat16()
opt = torch.optim.SGD(net.parameters(), 1e-9)  # <- here
steps(net, opt)
""",
    "too_often": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1); sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=5)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=8)
for epoch in range(5):
    for a, b in loader:
        opt.zero_grad(); F.mse_loss(net(a), b).backward(); opt.step()
        sched.step()  # <- here
""",
    "decayed": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1); sched = torch.optim.lr_scheduler.StepLR(opt, 10, 0.1)
steps(net, opt, 100, lambda i:
    sched.step())  # <- here
""",
    "steps by batch": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1); sched = torch.optim.lr_scheduler.StepLR(opt, 3, 0.7)
loader = lambda: torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=8)
for epoch in range(5):
    for a, b in loader():
        opt.zero_grad(); F.mse_loss(net(a), b).backward(); opt.step(); sched.step()  # <- here
""",
    "slope": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1); sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.05, total_iters=8)
steps(net, opt, 120, lambda i:
    sched.step())  # <- here
""",
    "milestones": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1); sched = torch.optim.lr_scheduler.MultiStepLR(opt, [5, 8], 0.1)
steps(net, opt, 100, lambda i:
    sched.step())  # <- here
""",
    "too_seldom": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1); sched = torch.optim.lr_scheduler.OneCycleLR(opt, 0.2, total_steps=80)
for epoch in range(5):
    steps(net, opt, 16)
    sched.step()  # <- here
""",
    "never": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1)
sched = torch.optim.lr_scheduler.StepLR(opt, 2)  # <- here
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=4)
for epoch in range(4):
    for a, b in loader:
        opt.zero_grad(); F.mse_loss(net(a), b).backward(); opt.step()
""",
    "overshoot": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.3)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda i: i + 1)  # <- here
steps(net, opt, 120, lambda i: sched.step())
""",
    "kept_graphs": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.01)
total = 0.0
for i in range(64):
    opt.zero_grad(); loss = F.mse_loss(net(x), y); loss.backward(); opt.step()
    total += loss  # <- here
""",
    "kept_graphs list": """
class Meter:
    def __init__(self):
        self.seen = []
    def update(self, value):
        self.seen.append(value)  # <- here
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.01); meter = Meter()
for i in range(64):
    opt.zero_grad(); loss = F.mse_loss(net(x), y); loss.backward(); opt.step()
    meter.update(loss)
""",
    "kept_graphs by name": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.01); sums = {"mse": 0.0}
for i in range(30):
    opt.zero_grad(); loss = F.mse_loss(net(x), y); loss.backward(); opt.step()
    sums["mse"] += loss  # <- here
""",
    "kept_graphs outputs": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.01); outs = {"train": []}
for i in range(64):
    out = net(x); opt.zero_grad(); F.mse_loss(out, y).backward(); opt.step()
    outs["train"].append(out)  # <- here
""",
}
"""By what is wrong: the first word is the key of the finding."""

HEALTHY = {
    "weight tying": """
class LM(nn.Module):
    def __init__(self):
        super().__init__(); self.emb, self.body, self.head = nn.Embedding(11, 8), nn.Linear(8, 8), nn.Linear(8, 11, bias=False)
        self.head.weight = self.emb.weight
    def forward(self, ids):
        return self.head(torch.tanh(self.body(self.emb(ids))))
net = LM(); opt = torch.optim.AdamW(net.parameters(), 1e-2); ids = torch.randint(0, 11, (16, 5))
for i in range(12):
    opt.zero_grad(); F.cross_entropy(net(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten()).backward(); opt.step()
""",
    "gan": """
G, D = nn.Sequential(nn.Linear(3, 6)), nn.Sequential(nn.Linear(6, 1))
og, od = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)
bce = nn.BCEWithLogitsLoss()
for i in range(20):
    D.zero_grad()
    bce(D(x), torch.ones(64, 1)).backward()
    fake = G(torch.randn(64, 3))
    bce(D(fake.detach()), torch.zeros(64, 1)).backward()
    od.step()
    G.zero_grad()
    bce(D(fake), torch.ones(64, 1)).backward()
    og.step()
""",
    "gan, generator first": """
G, D = nn.Sequential(nn.Linear(3, 6)), nn.Sequential(nn.Linear(6, 1))
og, od = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)
bce = nn.BCEWithLogitsLoss()
for i in range(20):
    fake = G(torch.randn(64, 3))
    og.zero_grad(); bce(D(fake), torch.ones(64, 1)).backward()
    od.zero_grad(); (bce(D(x), torch.ones(64, 1)) + bce(D(fake.detach()), torch.zeros(64, 1))).backward()
    og.step(); od.step()
""",
    "frozen backbone": """
net = nn.Sequential(nn.Sequential(nn.Linear(6, 8), nn.ReLU()), nn.Linear(8, 2))
for each in net[0].parameters():
    each.requires_grad = False
steps(net, torch.optim.SGD(net[1].parameters(), 0.1))
""",
    "head alone of a loaded model": """
net = mlp(); net.load_state_dict(mlp().state_dict())
steps(net, torch.optim.SGD(net[2].parameters(), 0.1))
""",
    "accumulation": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1)
for i in range(40):
    (F.mse_loss(net(x), y) / 4).backward()
    if i % 4 == 3:
        opt.step(); opt.zero_grad()
""",
    "average of weights": """
net = mlp(); ema = copy.deepcopy(net).requires_grad_(False); swa = torch.optim.swa_utils.AveragedModel(net)
opt = torch.optim.SGD(net.parameters(), 0.1)
def average(i):
    with torch.no_grad():
        for a, b in zip(ema.parameters(), net.parameters()):
            a.lerp_(b, 0.1)
        ema(x)
    swa.update_parameters(net)
steps(net, opt, every=average)
""",
    "lora": """
class Lora(nn.Module):
    def __init__(self, base):
        super().__init__(); self.base = base.requires_grad_(False)
        self.a, self.b = nn.Parameter(torch.randn(base.in_features, 2)), nn.Parameter(torch.zeros(2, base.out_features))
    def forward(self, x):
        return self.base(x) + x @ self.a @ self.b
net = nn.Sequential(Lora(nn.Linear(6, 8)), nn.Tanh(), nn.Linear(8, 2).requires_grad_(False))
steps(net, torch.optim.AdamW([each for each in net.parameters() if each.requires_grad], 1e-2))
""",
    "warm-up": """
net = mlp(); opt = torch.optim.AdamW(net.parameters(), 1e-2)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda i: min(1.0, (i + 1) / 10) * max(0.0, 1 - i / 60))
steps(net, opt, 60, lambda i: sched.step())
""",
    "one cycle": """
net = mlp(); opt = torch.optim.AdamW(net.parameters(), 1e-3)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, 1e-2, total_steps=60)
steps(net, opt, 60, lambda i: sched.step())
""",
    "schedule by epoch": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1); sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=5)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=8, shuffle=True)
for epoch in range(5):
    for a, b in loader:
        opt.zero_grad(); F.mse_loss(net(a), b).backward(); opt.step()
    sched.step()
""",
    "cosine by batch, and warm restarts": """
for kind in (lambda opt: torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=40),
             lambda opt: torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, 10),
             lambda opt: torch.optim.lr_scheduler.SequentialLR(opt, [torch.optim.lr_scheduler.LinearLR(opt, 0.01, total_iters=5),
                                                                    torch.optim.lr_scheduler.CosineAnnealingLR(opt, 35)], [5])):
    net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1); sched = kind(opt)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=8)
    for epoch in range(5):
        for a, b in loader:
            opt.zero_grad(); F.mse_loss(net(a), b).backward(); opt.step(); sched.step()
""",
    "plateau": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1); sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1)
steps(net, opt, 80, lambda i: sched.step(1.0))
""",
    "unfreezing": """
net = mlp(); net[0].requires_grad_(False)
steps(net, torch.optim.SGD([each for each in net.parameters() if each.requires_grad], 0.1), 20)
net[0].requires_grad_(True)
steps(net, torch.optim.SGD(net.parameters(), 0.01), 40)
""",
    "sparse embedding": """
net = nn.Sequential(nn.EmbeddingBag(50, 8, sparse=True), nn.Linear(8, 2))
opts = [torch.optim.SparseAdam(net[0].parameters(), 1e-2), torch.optim.AdamW(net[1].parameters(), 1e-2)]
ids = torch.randint(0, 50, (64, 3))
for i in range(12):
    for each in opts:
        each.zero_grad()
    F.mse_loss(net(ids), y).backward()
    for each in opts:
        each.step()
""",
    "branches": """
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.a, self.b, self.unused = nn.Linear(6, 2), nn.Linear(6, 2), nn.Linear(6, 2)
    def forward(self, x):
        self.calls = getattr(self, "calls", 0) + 1
        return self.b(x) if self.calls > 10 else self.a(x)
net = Net(); steps(net, torch.optim.Adam(net.parameters(), 1e-2), 20)
""",
    "best copy": """
net = mlp(); opt = torch.optim.Adam(net.parameters(), 1e-2); best = []
steps(net, opt, 20, lambda i: best.append(copy.deepcopy(net.state_dict())))
net.load_state_dict(best[3])
""",
    "sharpness-aware": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1)
for i in range(16):
    F.mse_loss(net(x), y).backward()
    with torch.no_grad():
        moved = [0.05 * each.grad / each.grad.norm() for each in net.parameters()]
        for each, e in zip(net.parameters(), moved):
            each.data.add_(e)
    opt.zero_grad()
    F.mse_loss(net(x), y).backward()
    with torch.no_grad():
        for each, e in zip(net.parameters(), moved):
            each.data.sub_(e)
    opt.step(); opt.zero_grad()
""",
    "gradient surgery": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1)
for i in range(16):
    sums = None
    for part in range(3):
        opt.zero_grad(); F.mse_loss(net(x[part::3]), y[part::3]).backward()
        mine = [each.grad.clone() for each in net.parameters()]
        sums = mine if sums is None else [a + b for a, b in zip(sums, mine)]
    for each, g in zip(net.parameters(), sums):
        each.grad = g
    opt.step()
""",
    "closure": """
net = mlp(); opt = torch.optim.LBFGS(net.parameters(), 0.1, max_iter=4)
def closure():
    opt.zero_grad(); loss = F.mse_loss(net(x), y); loss.backward(); return loss
for i in range(8):
    opt.step(closure)
""",
    "cleared by hand": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1)
for i in range(16):
    for each in net.parameters():
        if each.grad is not None:
            each.grad.data.zero_()
    F.mse_loss(net(x), y).backward(); opt.step()
""",
    "no optimizer": """
net = mlp(); spare = torch.optim.SGD(net[2].parameters(), 0.1)
for i in range(16):
    net.zero_grad(); F.mse_loss(net(x), y).backward(); spare.step()
    with torch.no_grad():
        for each in net[0].parameters():
            each -= 0.1 * each.grad
""",
    "mixed precision": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1); scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for i in range(16):
    opt.zero_grad()
    with torch.autocast("cpu", torch.bfloat16):
        loss = F.mse_loss(net(x).float(), y)
    scaler.scale(loss).backward(); scaler.unscale_(opt)
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(opt); scaler.update()
""",
    "losses kept a while, and detached": """
import collections
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1); window, every, total = collections.deque(maxlen=10), [], 0.0
for i in range(80):
    opt.zero_grad(); loss = F.mse_loss(net(x), y); loss.backward(); opt.step()
    window.append(loss); every.append(loss.detach()); total += loss.item()
""",
    "shared on purpose": """
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.enc = nn.Linear(6, 8); self.head = nn.Linear(8, 2)
        self.heads = nn.ModuleList([self.head for _ in range(3)])
    def forward(self, x):
        h = torch.tanh(self.enc(x)) + torch.tanh(self.enc(-x))
        return sum(each(h) for each in self.heads)
net = Net(); steps(net, torch.optim.SGD(net.parameters(), 0.01))
""",
    "a teacher in a list": """
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.net = mlp(); self.teacher = [mlp()]
    def forward(self, x):
        with torch.no_grad():
            aim = self.teacher[0](x)
        return self.net(x) - aim
net = Net(); steps(net, torch.optim.SGD(net.parameters(), 0.1))
""",
    "an image by optimization": """
net = mlp(); image = torch.zeros(64, 6, requires_grad=True); opt = torch.optim.Adam([image], 0.1)
for i in range(12):
    opt.zero_grad(); F.mse_loss(net(image), y).backward(); opt.step()
""",
    "policy gradient": """
net = mlp(); opt = torch.optim.Adam(net.parameters(), 1e-2)
for episode in range(40):
    logs = [torch.distributions.Categorical(logits=net(x[i])).log_prob(torch.tensor(0)) for i in range(10)]
    opt.zero_grad(); (-torch.stack(logs)).mean().backward(); opt.step()
""",
    "folds": """
for fold in range(4):
    net = mlp(); opt = torch.optim.Adam(net.parameters(), 1e-2); sched = torch.optim.lr_scheduler.StepLR(opt, 10)
    steps(net, opt, 24, lambda i: sched.step())
""",
    "in one step by each parameter": """
net = mlp(); opts = {each: torch.optim.SGD([each], 0.1) for each in net.parameters()}
def now(each):
    opts[each].step(); opts[each].zero_grad()
for each in net.parameters():
    each.register_post_accumulate_grad_hook(now)
for i in range(12):
    F.mse_loss(net(x), y).backward()
""",
    "a teacher inside the model": """
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.net, self.teacher = mlp(), mlp().requires_grad_(False)
    def forward(self, x):
        with torch.no_grad():
            for a, b in zip(self.teacher.parameters(), self.net.parameters()):
                a.lerp_(b, 0.1)
        return self.net(x) + 0 * self.teacher(x)
net = Net(); steps(net, torch.optim.AdamW(net.parameters(), 1e-2), 20)
""",
    "biases alone": """
net = mlp()
for name, each in net.named_parameters():
    each.requires_grad = "bias" in name
steps(net, torch.optim.AdamW([each for each in net.parameters() if each.requires_grad], 1e-2))
""",
    "a saliency map each step": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.05)
for i in range(16):
    seen = x.clone().requires_grad_(); net(seen).sum().backward()
    opt.zero_grad(); F.mse_loss(net(x), y).backward(); opt.step()
""",
    "an attack on the inputs": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.05)
for i in range(16):
    d = torch.zeros_like(x, requires_grad=True)
    for k in range(3):
        net.zero_grad(); F.mse_loss(net(x + d), y).backward()
        d.data = (d + 0.1 * d.grad.sign()).clamp(-0.3, 0.3); d.grad.zero_()
    opt.zero_grad(); F.mse_loss(net(x + d.detach()), y).backward(); opt.step()
""",
    "noise after clipping, and by hand unscaled before": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 0.1)
for i in range(12):
    opt.zero_grad(); (512 * F.mse_loss(net(x), y)).backward()
    for each in net.parameters():
        each.grad.div_(512)
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    for each in net.parameters():
        each.grad.add_(0.01 * torch.randn_like(each))
    opt.step()
""",
    "a penalty on a scale of one, and a trained temperature": """
net = mlp(); heat = torch.zeros((), requires_grad=True); opt = torch.optim.SGD([*net.parameters(), heat], 0.05)
for i in range(12):
    scale = torch.tensor(1.0, requires_grad=True)
    loss = F.mse_loss(net(x) * scale * heat.exp(), y)
    slope, = torch.autograd.grad(loss, [scale], create_graph=True)
    opt.zero_grad(); (loss + slope.pow(2) + 0.01 * heat).backward(); opt.step()
""",
    "first all, then the head alone": """
def train(net):
    steps(net, torch.optim.SGD(net.parameters(), 0.1))
net = mlp(); train(net)
steps(net, torch.optim.SGD(net[2].parameters(), 0.1), 40)
""",
    "trained, and then adapted by its normalisation alone": """
def train(net):
    steps(net, torch.optim.SGD(net.parameters(), 0.1))
net = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.Linear(8, 2)); train(net)
for each in (net, copy.deepcopy(net)):
    each.requires_grad_(False)[1].requires_grad_(True)
    steps(each, torch.optim.SGD(each[1].parameters(), 0.01), 12)
""",
    "a model without memory": """
net = mlp().to("meta"); x, y = x.to("meta"), y.to("meta"); opt = torch.optim.SGD(net.parameters(), 0.1)
for i in range(6):
    opt.zero_grad(); F.mse_loss(net(x), y).backward(); opt.step()
x = y = torch.zeros(1)
""",
    "a search for the rate": """
net = mlp(); opt = torch.optim.SGD(net.parameters(), 1e-6); sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda i: 1.3 ** i)
state = copy.deepcopy(net.state_dict())
steps(net, opt, 90, lambda i: sched.step())
net.load_state_dict(state); steps(net, torch.optim.SGD(net.parameters(), 0.1), 60)
""",
}
