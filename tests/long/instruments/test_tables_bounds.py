"""What the tables instrument costs on large tables and long runs, and what it says of what it did not see."""

from __future__ import annotations

from tests.instruments.stage import probed
from tests.instruments.test_tables import HEAD, WARM

LARGE = """
import resource, time
n = 100_000
wide = pd.DataFrame(rng.normal(0, 1, (n, 50)), columns=[f"c{i}" for i in range(50)])
y = pd.Series((wide["c0"] > 0).astype(int), name="y")
before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.thread_time()
a, b, c, d = train_test_split(wide, y, random_state=0)
scaler, pick = StandardScaler(), SelectKBest(k=20)
a, b = pick.fit_transform(scaler.fit_transform(a), c), pick.transform(scaler.transform(b))
models = []
for _ in range(4):
    models.append(SGDClassifier(max_iter=5, tol=None, random_state=0).fit(a, c))
    models[-1].score(a, c), models[-1].score(b, d)
for seed in range(60):
    train_test_split(wide, y, random_state=seed)
print(time.thread_time() - start, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
LONG = """
import torch
torch.manual_seed(0)
x, y = torch.randn(2000, 20), torch.randint(0, 2, (2000,))
net = torch.nn.Linear(20, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(80):
    for some in torch.randperm(2000).split(32):
        loss = torch.nn.functional.cross_entropy(net(x[some]), y[some])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        net(x[torch.randperm(2000)[:500]])
print(loss.item())
"""


def test_large_tables_cost_seconds_and_megabytes_that_are_bounded(tmp_path):
    plain, seen = probed(tmp_path, HEAD + LARGE, warm=WARM), probed(tmp_path, HEAD + LARGE, "tables", warm=WARM)
    (fast, small), (slow, large) = (map(float, each.stdout.split()) for each in (plain, seen))
    assert (seen.findings, seen.troubles) == ([], [])
    assert slow - fast < 4.5 and large - small < 200, (fast, slow, small, large)


def test_a_run_that_was_not_seen_to_its_end_is_no_proof_of_health(tmp_path):
    plain, seen = probed(tmp_path, LONG, warm=WARM), probed(tmp_path, LONG, "tables", warm=WARM)
    assert (seen.stdout, seen.findings, seen.troubles) == (plain.stdout, [], [])
    assert seen.fact("tables.is_blind") is True and seen.fact("tables.leaked_rows") is None
