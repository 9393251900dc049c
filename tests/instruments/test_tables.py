"""What the tables instrument sees of rows that were seen before they were tested on, and what it lets pass."""

from __future__ import annotations

import pytest

from tests.instruments.stage import line_of, probed

WARM = ("torch", "numpy", "pandas", "sklearn.datasets", "sklearn.decomposition", "sklearn.ensemble", "sklearn.feature_selection",
        "sklearn.linear_model", "sklearn.model_selection", "sklearn.neighbors", "sklearn.pipeline")
HEAD = """
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import accuracy_score, precision_score, log_loss, roc_auc_score, mean_squared_error
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import resample

rng = np.random.default_rng(0)
x, y = make_classification(400, 12, n_informative=4, weights=[0.8], random_state=0)
model = LogisticRegression(max_iter=500)


def frame(n=300):
    df = pd.DataFrame({"a": rng.normal(0, 1, n), "b": rng.normal(5, 2, n), "c": rng.normal(-3, 1, n), "shop": rng.integers(0, 40, n)})
    df["y"] = (df["a"] + rng.normal(0, 1, n) > 0).astype(int)
    return df
"""
SMOTE = """
import numpy as np
from sklearn.base import BaseEstimator

class Smote(BaseEstimator):
    def fit_resample(self, x, y):
        few = x[y == 1]
        pick, other = np.random.default_rng(0).integers(0, len(few), (2, 200))
        made = few[pick] + 0.5 * (few[other] - few[pick])
        return np.vstack([x, made]), np.concatenate([y, np.ones(200, int)])
"""


def shown(tmp_path, source, **files):
    source = HEAD + source
    seen = probed(tmp_path, {"main.py": source, **{f"{name}.py": text for name, text in files.items()}}, "tables", warm=WARM)
    assert (seen.exit, seen.troubles) == (0, []), seen.stderr
    return seen, [(each.facts["at"].rpartition("/")[2], each.facts.get("tables.leak")) for each in seen.findings], source


LEAKS = {
    "a selection before cross-validation": ("fit_before_split", """
x2 = SelectKBest(f_classif, k=3).fit_transform(x, y)  # <- cause
x2 = StandardScaler().fit_transform(x2)
print(cross_val_score(model, x2, y, cv=5).mean())
"""),
    "a selection before a split, in a function beside": ("fit_before_split", """
def prepared(x, y):
    pick = SelectKBest(f_classif, k=3)
    return pick.fit(x, y).transform(x)
x2 = prepared(x, y)  # <- cause
a, b, c, d = train_test_split(x2, y, random_state=0)
print(model.fit(a, c).score(b, d))
"""),
    "a selection before folds that the program makes itself": ("fit_before_split", """
x2 = SelectKBest(f_classif, k=3).fit_transform(pd.DataFrame(x), y)  # <- cause
for train, test in KFold(4).split(x2):
    print(accuracy_score(y[test], LogisticRegression().fit(x2[train], y[train]).predict(x2[test])))
"""),
    "a selection before a split, for a model of another kind": ("fit_before_split", """
import torch
x2 = SelectKBest(f_classif, k=3).fit_transform(x, y)  # <- cause
a, b, c, d = train_test_split(x2, y, random_state=0)
print(torch.from_numpy(b).sum().item())
"""),
    "synthetic rows before a split": ("fit_before_split", """
from smote import Smote
x2, y2 = Smote().fit_resample(x, y)  # <- cause
a, b, c, d = train_test_split(x2, y2, random_state=0)
print(RandomForestClassifier(10, random_state=0).fit(a, c).score(b, d))
"""),
    "rows drawn with replacement before a split": ("copies", """
few = resample(x[y == 1], n_samples=300, random_state=0)  # <- cause
x2, y2 = np.vstack([x, few]), np.concatenate([y, np.ones(300, int)])
a, b, c, d = train_test_split(x2, y2, random_state=0)
print(model.fit(a, c).score(b, d))
"""),
    "rows that numpy drew again before a split": ("copies", """
pick = rng.choice(np.flatnonzero(y == 1), 240)
x2, y2 = np.concatenate([x, x[pick]]), np.concatenate([y, y[pick]])
a, b, c, d = train_test_split(x2, y2, random_state=0)  # <- cause
print(model.fit(a, c).score(b, d))
"""),
    "classes that were evened and shuffled before a split": ("copies", """
order = np.concatenate([np.flatnonzero(y == 0), rng.choice(np.flatnonzero(y == 1), (y == 0).sum())])
rng.shuffle(order)
a, b, c, d = train_test_split(x[order], y[order], random_state=0)  # <- cause
print(model.fit(a, c).score(b, d))
"""),
    "rows of a frame that were sampled again": ("copies", """
df = frame()
def balanced(df):
    more = df[df["y"] == 1].sample(200, replace=True, random_state=0)
    return pd.concat([df, more]).sample(frac=1, random_state=1)
df = balanced(df)  # <- cause
train, test = train_test_split(df, random_state=0)
print(model.fit(train[["a", "b"]], train["y"]).score(test[["a", "b"]], test["y"]))
"""),
    "a split that is drawn a second time": ("split_redrawn", """
def train():
    a, b, c, d = train_test_split(x, y, random_state=0)
    return LogisticRegression().fit(a, c)
def report(model):
    a, b, c, d = train_test_split(x, y, random_state=1)  # <- cause
    print(model.score(b, d))
report(train())
"""),
    "a split of the program's own that is drawn a second time": ("split_redrawn", """
def parts():
    order = rng.permutation(len(x))
    return order[:300], order[300:]
train, _ = parts()
scaler = StandardScaler().fit(x[train])
model.fit(scaler.transform(x[train]), y[train])
_, test = parts()
print(accuracy_score(y[test], model.predict(scaler.transform(x[test]))))  # <- cause
"""),
    "a split of a network's rows that is drawn a second time": ("split_redrawn", """
import torch
x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
def parts():
    order = rng.permutation(len(x))
    return order[:300], order[300:]
def train():
    net = torch.nn.Linear(12, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for some in np.array_split(parts()[0], 6) * 3:
        loss = torch.nn.functional.cross_entropy(net(x[some]), y[some])
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net
def test(net):
    _, held = parts()
    with torch.no_grad():
        print((net(x[held]).argmax(1) == y[held]).float().mean().item())  # <- cause
test(train())
"""),
    "a network that goes through all folds": ("model_reused", """
import torch
x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
net = torch.nn.Sequential(torch.nn.Linear(12, 2))  # <- cause
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for fit, held in KFold(4, shuffle=True, random_state=0).split(x):
    for _ in range(5):
        loss = torch.nn.functional.cross_entropy(net(x[fit]), y[fit])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print((net(x[held]).argmax(1) == y[held]).float().mean().item())
"""),
    "classes that were evened before the program's own split": ("copies", """
few = np.flatnonzero(y == 1)
order = np.concatenate([np.arange(400), rng.choice(few, 240)])
rng.shuffle(order)
x2, y2 = x[order], y[order]
nearest = KNeighborsClassifier(1).fit(x2[:500], y2[:500])  # <- cause
print(accuracy_score(y2[500:], nearest.predict(x2[500:])))
"""),
    "a test set that is the training set": ("test_is_train", """
x_train, x_test, y_train, y_test = train_test_split(x, y, random_state=0)
x_test, y_test = x_train, y_train
print(model.fit(x_train, y_train).score(x_test, y_test))  # <- cause
"""),
    "a model that is carried on from fold to fold": ("model_reused", """
sgd = SGDClassifier(random_state=0)
for train, test in KFold(4, shuffle=True, random_state=0).split(x):
    for _ in range(5):
        sgd.partial_fit(x[train], y[train], classes=[0, 1])  # <- cause
    print(sgd.score(x[test], y[test]))
"""),
    "a forest that grows on from fold to fold": ("model_reused", """
forest = RandomForestClassifier(5, warm_start=True, random_state=0)
for train, test in KFold(4, shuffle=True, random_state=0).split(x):
    forest.n_estimators += 5
    forest.fit(x[train], y[train])  # <- cause
    print(forest.score(x[test], y[test]))
"""),
    "a mean of the target per category over all rows": ("target_encoding", """
df = frame()
df["rate"] = df["shop"].map(df.groupby("shop")["y"].mean())  # <- cause
train, test = train_test_split(df, random_state=0)
model.fit(train[["a", "rate"]], train["y"])
print(roc_auc_score(test["y"], model.predict_proba(test[["a", "rate"]])[:, 1]))
"""),
    "a transformed mean of the target, crossed as bare arrays": ("target_encoding", """
df = frame()
df["rate"] = df.groupby("shop")["y"].transform("mean")  # <- cause
print(cross_val_score(model, df[["a", "rate"]].to_numpy(), df["y"].to_numpy()).mean())
"""),
    "a smoothed mean of the target, merged": ("target_encoding", """
df = frame()
seen = df.groupby("shop")["y"].agg(["mean", "count"]).reset_index()  # <- cause
seen["rate"] = (seen["mean"] * seen["count"] + 0.5 * 10) / (seen["count"] + 10)
df = df.merge(seen[["shop", "rate"]], on="shop")
train, test = train_test_split(df, random_state=0)
model.fit(train[["a", "rate"]], train["y"])
print(model.score(test[["a", "rate"]], test["y"]))
"""),
}  # fmt: skip


@pytest.mark.parametrize("name", LEAKS)
def test_a_leak_is_found_at_the_line_where_the_order_was_written(tmp_path, name):
    kind, body = LEAKS[name]
    seen, found, source = shown(tmp_path, body, smote=SMOTE)
    assert found == [(f"main.py:{line_of(source, '# <- cause')}", kind)], [each.facts for each in seen.told]


HEALTHY = {
    "all steps in a pipeline that is crossed": """
pipe = make_pipeline(StandardScaler(), SelectKBest(f_classif, k=3), model)
print(cross_val_score(pipe, x, y, cv=5).mean())
""",
    "transformers fitted on training rows": """
a, b, c, d = train_test_split(x, y, random_state=0)
scaler, pick = StandardScaler().fit(a), SelectKBest(f_classif, k=3)
a2 = pick.fit_transform(scaler.transform(a), c)
model.fit(a2, c)
print(model.score(a2, c), model.score(pick.transform(scaler.transform(b)), d))
""",
    "a scaler fitted before the split is mild": """
a, b, c, d = train_test_split(StandardScaler().fit_transform(x), y, random_state=0)
print(model.fit(a, c).score(b, d))
""",
    "rows evened after the split": """
from smote import Smote
a, b, c, d = train_test_split(x, y, random_state=0)
a, c = Smote().fit_resample(a, c)
more = resample(a[c == 1], random_state=0)
print(model.fit(np.vstack([a, more]), np.concatenate([c, np.ones(len(more), int)])).score(b, d))
""",
    "groups that stay together": """
groups = rng.integers(0, 40, 400)
print(cross_val_score(model, x, y, groups=groups, cv=GroupKFold(5)).mean())
for train, test in GroupKFold(5).split(x, y, groups):
    print(LogisticRegression().fit(x[train], y[train]).score(x[test], y[test]))
""",
    "rows that are equal by nature": """
x2 = rng.integers(0, 3, (600, 4))
y2 = (x2.sum(1) > 4).astype(int)
a, b, c, d = train_test_split(x2, y2, random_state=0)
pick = SelectKBest(f_classif, k=2).fit(a, c)
print(model.fit(pick.transform(a), c).score(pick.transform(b), d), cross_val_score(model, x2, y2).mean())
df = pd.DataFrame(x2).assign(y=y2)
train, test = train_test_split(df, random_state=0)
print(LogisticRegression().fit(train.drop(columns="y").values, train["y"]).score(test.drop(columns="y").values, test["y"]))
""",
    "a search inside a cross-validation": """
grid = GridSearchCV(make_pipeline(StandardScaler(), KNeighborsClassifier()), {"kneighborsclassifier__n_neighbors": [3, 5]}, cv=3)
print(cross_val_score(grid, x, y, cv=3).mean())
""",
    "a search over selected training rows, tested on others": """
a, b, c, d = train_test_split(x, y, random_state=0)
pick = SelectKBest(f_classif, k=3)
grid = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [3, 5]}, cv=3).fit(pick.fit_transform(a, c), c)
print(grid.score(pick.transform(b), d))
""",
    "a last fit on all rows after a cross-validation": """
print(cross_val_score(model, x, y).mean())
model.fit(x, y)
print(model.predict(x).sum(), model.score(x, y))
pick = SelectKBest(f_classif, k=3).fit(x, y)
print(pick.get_support().sum(), model.fit(pick.transform(x), y).coef_.shape)
""",
    "a split into three": """
a, test, c, truth = train_test_split(x, y, random_state=0)
a, val, c, guess = train_test_split(a, c, random_state=1)
for k in (1, 3):
    print(KNeighborsClassifier(k).fit(a, c).score(val, guess))
both = np.vstack([a, val]), np.concatenate([c, guess])
print(KNeighborsClassifier(3).fit(*both).score(test, truth))
""",
    "means of the target out of fold": """
df = frame()
train, test = train_test_split(df, random_state=0)
train, test = train.copy(), test.copy()
train["rate"] = 0.0
for fit, held in KFold(5).split(train):
    means = train.iloc[fit].groupby("shop")["y"].mean()
    train.iloc[held, train.columns.get_loc("rate")] = train.iloc[held]["shop"].map(means).fillna(0.5).to_numpy()
test["rate"] = test["shop"].map(train.groupby("shop")["y"].mean()).fillna(0.5)
model.fit(train[["a", "rate"]], train["y"])
print(model.score(train[["a", "rate"]], train["y"]), model.score(test[["a", "rate"]], test["y"]))
""",
    "means of the target over training rows, and means of a feature over all": """
df = frame()
df["b_of_shop"] = df.groupby("shop")["b"].transform("mean")
train, test = train_test_split(df, random_state=0)
train, test = train.copy(), test.copy()
means = train.groupby("shop")["y"].mean()
for part in (train, test):
    part["rate"] = part["shop"].map(means).fillna(train["y"].mean())
columns = ["a", "rate", "b_of_shop"]
model.fit(train[columns], train["y"])
print(model.score(train[columns], train["y"]), model.score(test[columns], test["y"]))
""",
    "models of their own in each fold, and one that learns in pieces": """
for train, test in KFold(4, shuffle=True, random_state=0).split(x):
    print(LogisticRegression().fit(x[train], y[train]).score(x[test], y[test]))
a, b, c, d = train_test_split(x, y, random_state=0)
sgd = SGDClassifier(random_state=0)
for start in range(0, 300, 50):
    sgd.partial_fit(a[start : start + 50], c[start : start + 50], classes=[0, 1])
    print(sgd.score(a, c), sgd.score(b, d))
""",
    "repeated splits with a model each": """
for seed in range(5):
    a, b, c, d = train_test_split(x, y, random_state=seed)
    print(LogisticRegression().fit(a, c).score(b, d))
""",
    "a bootstrap of the whole and of test scores": """
for seed in range(5):
    pick = resample(np.arange(400), random_state=seed)
    left = np.setdiff1d(np.arange(400), pick)
    fitted = LogisticRegression().fit(x[pick], y[pick])
    print(fitted.score(x[left], y[left]), fitted.score(x, y))
a, b, c, d = train_test_split(x, y, random_state=0)
model.fit(a, c)
for seed in range(5):
    truth, b2 = resample(d, b, random_state=seed)
    print(model.score(b2, truth))
""",
    "a projection for a picture": """
flat = PCA(2).fit_transform(StandardScaler().fit_transform(x))
print(flat.shape)
a, b, c, d = train_test_split(x, y, random_state=0)
print(model.fit(a, c).score(b, d))
""",
}


@pytest.mark.parametrize("name", HEALTHY)
def test_no_leak_is_found_in(tmp_path, name):
    seen, found, _ = shown(tmp_path, HEALTHY[name], smote=SMOTE)
    assert found == [], [each.facts for each in seen.findings]
    assert seen.fact("tables.leaked_rows") == 0


def test_a_column_of_ids_on_both_sides_is_a_prompt_and_no_finding(tmp_path):
    seen, found, _ = shown(tmp_path, """
df = frame().assign(patient_id=rng.integers(0, 60, 300), row_id=np.arange(300))
train_test_split(df, random_state=0)
""")
    assert found == [] and ["patient_id" in each.facts["says"] for each in seen.hints] == [True]
