"""Healthy programs that look like a leak, a permutation or a misalignment, and of which the tables instrument has nothing to say."""

from __future__ import annotations

import pytest

from tests.instruments.test_tables import shown

HEALTHY = {
    "transforms that learn nothing, made anew for the test rows": """
from sklearn.preprocessing import PolynomialFeatures, Normalizer
a, b, c, d = train_test_split(x, y, random_state=0)
poly = PolynomialFeatures(2)
model.fit(poly.fit_transform(a), c)
print(model.score(poly.fit_transform(b), d))
m2 = LogisticRegression().fit(Normalizer().fit_transform(a), c)
print(m2.score(Normalizer().fit_transform(b), d))
""",
    "new rows of few values, which others hold in another order": """
bits = rng.integers(0, 2, (300, 10)); t = bits[:, 0]
a, b, c, d = train_test_split(bits, t, random_state=0)
model.fit(a, c)
new = rng.integers(0, 2, (200, 20))[:, :10]
print(model.score(b, d), model.predict(new).sum())
""",
    "columns that a pipeline takes by their names": """
from sklearn.compose import ColumnTransformer
df = frame()
pipe = make_pipeline(ColumnTransformer([("s", StandardScaler(), ["a", "b", "c"])]), LogisticRegression())
tr, te = train_test_split(df, random_state=0)
pipe.fit(tr[["a", "b", "c"]], tr["y"])
print(pipe.score(te[["c", "a", "b"]], te["y"]))
""",
    "a model that is tested on each piece before it learns from it": """
sgd = SGDClassifier(random_state=0)
for start in range(0, 400, 50):
    part, want = x[start : start + 50], y[start : start + 50]
    if start:
        print(sgd.score(part, want))
    sgd.partial_fit(part, want, classes=[0, 1])
print(sgd.score(x, y))
""",
    "groups of all rows, after a test on fresh ones": """
df = frame()
tr, te = train_test_split(df, random_state=0)
model.fit(tr[["a", "b"]], tr["y"])
print(model.score(te[["a", "b"]], te["y"]))
for name, part in df.groupby(df["shop"] % 4):
    print(name, model.score(part[["a", "b"]], part["y"]))
""",
    "classes of one size whose rows have few values": """
n = 400
few = np.concatenate([rng.integers(0, 3, (n, 5)), rng.integers(0, 5, (n, 5))]); lab = np.repeat([0, 1], n)
order = rng.permutation(2 * n); few, lab = few[order], lab[order]
a, b, c, d = train_test_split(few, lab, random_state=0)
print(model.fit(a, c).score(b, d))
""",
    "predictions that are all right, and equal the truth": """
a, b, c, d = train_test_split(x, y, random_state=0)
rf = RandomForestClassifier(bootstrap=False, random_state=0).fit(a, c)
print(accuracy_score(c, rf.predict(a)))
m2 = LogisticRegression().fit(a, c)
print(precision_score(c, (m2.predict_proba(a)[:, 1] > 0.4).astype(int)))
""",
    "shuffled targets, to learn what chance would score": """
df = frame()
X, Y = df[["a", "b", "c"]], df["y"]
for seed in range(3):
    print(cross_val_score(model, X, Y.sample(frac=1, random_state=seed), cv=3).mean())
    print(cross_val_score(model, X, Y.sample(frac=1, random_state=seed).values, cv=3).mean())
""",
    "infinity that is a mask": """
import torch
df = frame(); df["r"] = df["a"] / df["shop"].where(df["shop"] > 3, 0); df["r"] = df["r"].replace([np.inf, -np.inf], np.nan).fillna(0)
class Net(torch.nn.Module):
    def __init__(s):
        super().__init__(); s.l = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    def forward(s, q, mask):
        return s.l(q, src_mask=mask).sum()
net = Net(); opt = torch.optim.SGD(net.parameters(), 1e-3)
mask = torch.triu(torch.full((5, 5), float("-inf")), 1)
for _ in range(3):
    opt.zero_grad(); net(torch.randn(2, 5, 8), mask).backward(); opt.step()
""",
    "rows that are asked for once a model doubts them": """
import torch
torch.manual_seed(0)
X = torch.from_numpy(x).float(); Y = torch.from_numpy(y).float()
net = torch.nn.Linear(12, 1); opt = torch.optim.SGD(net.parameters(), 1e-2)
known = list(range(100)); pool = list(range(100, 300))
for round in range(5):
    for _ in range(5):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(net(X[known])[:, 0], Y[known])
        opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        doubt = net(X[pool])[:, 0].abs().argsort()[:20].tolist()
    known += [pool[i] for i in doubt]; pool = [p for i, p in enumerate(pool) if i not in doubt]
with torch.no_grad():
    print((net(X[300:])[:, 0] > 0).float().mean())
""",
    "observations that a policy acts on first and learns from later": """
import torch
torch.manual_seed(0)
net = torch.nn.Linear(6, 2); opt = torch.optim.SGD(net.parameters(), 1e-2); seen = []
for step in range(60):
    obs = torch.randn(16, 6)
    if step > 30:
        with torch.no_grad(): net(obs)
    seen.append(obs)
    every = torch.cat(seen)
    net(every[torch.randint(0, len(every), (64,))]).pow(2).mean().backward(); opt.step(); opt.zero_grad()
""",
    "columns of objects and lists": """
df = frame(); df["tags"] = [["a"]] * len(df); df["o"] = [object() for _ in range(len(df))]
a, b = train_test_split(df, random_state=0)
print(model.fit(a[["a", "b"]], a["y"]).score(b[["a", "b"]], b["y"]))
""",
    "values that an estimator takes as they are, when the instrument has no time left": """
import sys
from sklearn.ensemble import HistGradientBoostingClassifier
clock = sys.modules["_bitten_hook"].load("_bitten_probes.table_estimators").Clock
a, b, c, d = train_test_split(np.where(x > 1, np.nan, x), y, random_state=0)
model = HistGradientBoostingClassifier(max_iter=5)
bad = sys.modules["_bitten_hook"].load("_bitten_probes.table_gaps")
look = bad._bad_columns
def slow(table):
    found = look(table)
    clock.spent = 1e9
    return found
bad._bad_columns = slow
print(model.fit(a, c).score(b, d))
""",
}


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_found_in_healthy(tmp_path, name):
    seen, _, _ = shown(tmp_path, HEALTHY[name])
    assert seen.findings == [], [each.facts for each in seen.findings]


def test_what_is_watched_goes_to_workers_and_into_saved_models_by_pickle(tmp_path):
    seen, found, _ = shown(
        tmp_path,
        """
import io, joblib, pickle
from sklearn.metrics import fbeta_score, make_scorer
search = GridSearchCV(model, {"C": [0.1, 1]}, scoring=make_scorer(fbeta_score, beta=2), n_jobs=2).fit(x, y)
joblib.dump(search, io.BytesIO())
for each in (fbeta_score, roc_auc_score, train_test_split, cross_val_score, resample, pd.concat):
    assert pickle.loads(pickle.dumps(each)) is each
print(joblib.Parallel(2)(joblib.delayed(precision_score)(y, y) for _ in range(2)))
""",
    )
    assert found == [] and seen.stdout == "[1.0, 1.0]\n"
