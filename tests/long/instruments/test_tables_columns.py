"""What the tables instrument sees of columns, of values that are not finite, of alignment, and of metrics; and what it lets pass."""

from __future__ import annotations

import pytest

from tests.instruments.stage import line_of, probed
from tests.instruments.test_tables import HEAD, WARM

MORE = """
import torch
from torch import nn
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge, LinearRegression
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC


def trained(x, y, steps=3):
    torch.manual_seed(0)
    x, y = torch.tensor(np.asarray(x), dtype=torch.float32), torch.tensor(np.asarray(y), dtype=torch.float32)
    net = nn.Linear(x.shape[1], 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(steps):
        loss = nn.functional.mse_loss(net(x)[:, 0], y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net


df = frame()
columns = ["a", "b", "c"]
train, test = train_test_split(df, random_state=0)
"""


def shown(tmp_path, source, exit=0):
    source = HEAD + MORE + source
    seen = probed(tmp_path, source, "tables", warm=WARM)
    assert (seen.exit, seen.troubles) == (exit, []), seen.stderr
    return seen, [each.facts["at"].rpartition("/")[2] for each in seen.findings], source


BROKEN = {
    "columns in another order at predict": ("tables.order", "permuted", """
model.fit(train[columns].to_numpy(), train["y"])
print(model.predict(test[sorted(columns, reverse=True)].to_numpy()).sum())  # <- cause
"""),
    "columns in another order behind a scaler": ("tables.order", "permuted", """
scaler = StandardScaler().fit(train[columns].values)
model.fit(scaler.transform(train[columns].values), train["y"])
print(scaler.transform(test[["c", "a", "b"]].values).sum())  # <- cause
"""),
    "rows of an array whose columns were turned": ("tables.order", "permuted", """
a, b, c, d = train_test_split(x, y, random_state=0)
model.fit(a, c)
print(model.predict(b[:, ::-1]).sum())  # <- cause
"""),
    "a scaler that is forgotten at predict": ("tables.shifted_columns", 3, """
x = x[:, :3] * [1, 50, 9] + [300, 2000, 50]
a, b, c, d = train_test_split(x, y, random_state=0)
model.fit(StandardScaler().fit_transform(a), c)
print(model.score(b, d))  # <- cause
"""),
    "a test set that is scaled by its own statistics": ("tables.leak", "own_statistics", """
a, b, c, d = train_test_split(x, y, random_state=0)
scaler = StandardScaler()
model.fit(scaler.fit_transform(a), c)
print(model.score(scaler.fit_transform(b), d))  # <- cause
"""),
    "a solver that has not converged on columns that are not scaled": ("tables.converged", False, """
wide = x * np.logspace(0, 6, 12)
a, b, c, d = train_test_split(wide, y, random_state=0)
fitted = LogisticRegression(max_iter=20).fit(a, c)  # <- cause
print(fitted.score(b, d))
"""),
    "a solver in a pipeline without a scaler": ("tables.converged", False, """
wide = x * np.logspace(0, 6, 12)
print(cross_val_score(make_pipeline(SimpleImputer(), LogisticRegression(max_iter=20)), wide, y).mean())  # <- cause
"""),
    "a network that is fed other scales than in training": ("tables.shifted_columns", 3, """
wide = x[:, :3] * [1, 50, 900] + [300, 2000, 50000]
net = trained(StandardScaler().fit(wide[:300]).transform(wide[:300]), y[:300])
with torch.no_grad():
    print(net(torch.tensor(wide[300:], dtype=torch.float32)).sum().item())  # <- cause
"""),
    "a division by zero on its way to torch": ("tables.made_by", "a division", """
df["n"] = rng.integers(0, 4, len(df))
df["a_each"] = df["a"] / df["n"]  # <- cause
values = df[["a", "a_each"]].to_numpy()
values = (values - values.mean(0)) / values.std(0)
trained(values, df["y"])
"""),
    "a logarithm of a negative number on its way to torch": ("tables.made_by", "numpy's log", """
df["log_b"] = np.log(df["b"] - 4)  # <- cause
trained(df[["a", "log_b"]].values, df["y"])
"""),
    "a division of arrays on its way to torch": ("tables.made_by", "numpy", """
values = df[columns].to_numpy()
counts = rng.integers(0, 4, (len(df), 1))
values = values / counts  # <- cause
trained(values, df["y"])
"""),
    "an assignment that finds half of its labels": ("tables.made_by", "an assignment that aligns by labels", """
df["d"] = df["a"][df["b"] > 5] * 2  # <- cause
trained(df[["a", "d"]].to_numpy(), df["y"])
"""),
    "a series that is numbered anew": ("tables.misaligned", 1, """
model.fit(train[columns], train["y"])
test = test.copy()
test["guess"] = pd.Series(model.predict(test[columns]))  # <- cause
print((test["guess"] == test["y"]).mean())
"""),
    "a scaled frame that lost its labels": ("tables.misaligned", 1, """
scaled = pd.DataFrame(StandardScaler().fit_transform(train[columns]), columns=columns)
scaled["y"] = train["y"]  # <- cause
scaled = scaled.dropna()
print(len(scaled))
"""),
    "a shuffled frame and its reset half": ("tables.misaligned", 1, """
mixed = df.sample(frac=1, random_state=0)
label = mixed["y"].reset_index(drop=True)
features = mixed[columns].copy()
features["y"] = label  # <- cause
print(len(features))
"""),
    "two frames side by side": ("tables.misaligned", 1, """
left = train[columns].reset_index(drop=True)
both = pd.concat([left, train["y"]], axis=1)  # <- cause
print(len(both))
"""),
    "truth and prediction swapped": ("tables.arguments", "swapped", """
model.fit(train[columns], train["y"])
print(precision_score(model.predict(test[columns]), test["y"]))  # <- cause
"""),
    "a loss of probabilities that gets labels": ("tables.arguments", "labels", """
model.fit(train[columns], train["y"])
print(log_loss(test["y"], model.predict(test[columns])))  # <- cause
"""),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_it_is_found_at_its_line(tmp_path, name):
    fact, value, body = BROKEN[name]
    seen, found, source = shown(tmp_path, body)
    assert (found, seen.fact(fact)) == ([f"main.py:{line_of(source, '# <- cause')}"], value), [each.facts for each in seen.told]


def test_a_network_that_stands_still_on_columns_far_apart_is_found_and_one_that_learns_is_not(tmp_path):
    seen, found, source = shown(tmp_path, """
wide = x[:, :3] * [1, 50, 9000] + [3, 200, 50000]
trained(wide, y, steps=30)
trained(StandardScaler().fit_transform(wide), y, steps=30)
""")
    assert found == [f"main.py:{line_of(source, 'mse_loss(net(x)[:, 0], y)')}"], [each.facts for each in seen.told]
    assert seen.fact("tables.scale_ratio") > 1000 and "not scaled" in seen.findings[0].facts["says"]


def test_each_way_to_meet_by_wrong_labels_is_found(tmp_path):
    seen, found, source = shown(tmp_path, """
part = df[df["b"] > 4]
clean = part.reset_index(drop=True)
clean["t"] = df["y"]  # <- one
part[["a"]].reset_index(drop=True).join(df[["y"]])  # <- two
pd.concat([clean[["a"]], df["y"]], axis=1)  # <- three
part["y"] - pd.Series(np.zeros(len(part)))  # <- four
model.fit(df[columns].sort_values("a"), df["y"])  # <- five
model.fit(df.sort_values("a")[columns].to_numpy(), df["y"].values)  # <- six
model.fit(df.sample(frac=1, random_state=3)[columns].reset_index(drop=True), df["y"])  # <- seven
""")
    words = ("one", "two", "three", "four", "five", "six", "seven")
    assert found == [f"main.py:{line_of(source, f'# <- {word}')}" for word in words], [each.facts for each in seen.findings]


def test_pandas_and_numpy_warn_of_the_same_lines_in_the_same_words(tmp_path):
    source = HEAD + """
df = frame()
df["b"].fillna(0, inplace=True)
df["b"][0] = 1.0
values = np.log(df["b"] - 5)
raised = df.to_numpy() / np.zeros((len(df), 1))
print(df.groupby("shop")["y"].mean().sum(), pd.concat([df, df[:0]], axis=1).shape, np.nansum(values), raised.shape)
print(LogisticRegression(max_iter=2).fit(x, y).score(x, y), precision_score(y, y * 0))
"""
    plain, seen = probed(tmp_path, source, warm=WARM), probed(tmp_path, source, "tables", warm=WARM)
    assert (seen.stdout, seen.troubles) == (plain.stdout, [])
    assert seen.stderr.replace(str(seen.root), "") == plain.stderr.replace(str(plain.root), "") and plain.stderr.count("Warning") >= 4


REFUSED = {
    "a join that finds no partner": ("merge", """
prices = pd.DataFrame({"shop": range(30), "price": rng.normal(0, 1, 30)})
df = df.merge(prices, on="shop", how="left")  # <- cause
model.fit(df[["a", "price"]], df["y"])
"""),
    "a map without all keys": ("a map", """
df["price"] = df["shop"].map({shop: shop / 7 for shop in range(30)})  # <- cause
make_pipeline(StandardScaler(), model).fit(df[["a", "price"]], df["y"])
"""),
    "NaN that was there from the start": ("the data", """
df.loc[df["a"] > 1, "b"] = np.nan
model.fit(df[columns], df["y"])  # <- cause
"""),
    "a fill of a copy": ("a fill without effect", """
df.loc[df["a"] > 1, "b"] = np.nan
df["b"].fillna(0, inplace=True)  # <- cause
model.fit(df[columns], df["y"])
"""),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_nan_that_an_estimator_refuses_is_traced_to_what_made_it(tmp_path, name):
    made_by, body = REFUSED[name]
    seen, found, source = shown(tmp_path, body, exit=1)
    cause = f"main.py:{line_of(source, '# <- cause')}"
    assert (found, seen.fact("tables.made_by")) == ([cause], made_by), [each.facts for each in seen.told]
    assert "contains NaN" in seen.stderr and "Input X" in seen.stderr


HEALTHY = {
    "order": """
model.fit(train[columns].to_numpy(), train["y"])
print(model.predict(test[columns].to_numpy()).sum(), model.score(train[columns].values, train["y"]))
piece = make_pipeline(StandardScaler(), model).fit(train[columns], train["y"])
print(piece.predict(test[columns]).sum(), PCA(3).fit(train[columns].values).transform(test[columns].values).sum())
""",
    "scales": """
x = x[:, :3] * [1, 50, 9] + [300, 2000, 50]
a, b, c, d = train_test_split(x, y, random_state=0)
scaler = StandardScaler().fit(a)
model.fit(scaler.transform(a), c)
print(model.score(scaler.transform(b), d), SVC().fit(scaler.transform(a), c).score(scaler.transform(b), d))
print(RandomForestClassifier(5, random_state=0).fit(a, c).score(b, d), KNeighborsClassifier().fit(a, c).score(b, d))
for fit, held in KFold(4).split(x):
    scaler = StandardScaler()
    print(LogisticRegression().fit(scaler.fit_transform(x[fit]), y[fit]).score(scaler.transform(x[held]), y[held]))
both = StandardScaler().fit_transform(x)
print(LogisticRegression().fit(both, y).score(both, y))
""",
    "convergence": """
a, b, c, d = train_test_split(x, y, random_state=0)
print(LogisticRegression(max_iter=500).fit(a * np.logspace(0, 2, 12), c).coef_.shape)
print(MLPClassifier((4,), max_iter=5, random_state=0).fit(a, c).score(b, d))
print(make_pipeline(StandardScaler(), LogisticRegression()).fit(a * np.logspace(0, 6, 12), c).score(b * np.logspace(0, 6, 12), d))
""",
    "gaps that are filled": """
df["n"] = rng.integers(0, 4, len(df))
df["each"] = (df["a"] / df["n"]).replace([np.inf, -np.inf], np.nan).fillna(0)
prices = pd.DataFrame({"shop": range(30), "price": rng.normal(0, 1, 30)})
df = df.merge(prices, on="shop", how="left")
df["price"] = df["price"].fillna(df["price"].mean())
df["lag"] = df["a"].shift(1)
df["step"] = df["a"].diff().fillna(0)
df = df.dropna()
df["part"] = df["a"][df["b"] > 5]
df["part"] = df["part"].fillna(0)
print(len(df), model.fit(df[["a", "each", "price", "step", "part"]], df["y"]).coef_.shape)
trained(df[["a", "each", "price", "step", "lag"]].to_numpy(), df["y"])
holes = df[columns].mask(df[columns] > 2)
print(make_pipeline(SimpleImputer(), model).fit(holes, df["y"]).score(holes, df["y"]))
""",
    "alignment that is meant": """
mixed = df.sample(frac=1, random_state=0)
mixed["twice"] = df["a"] * 2
train, test = train.copy(), test.copy()
train["twice"] = df["a"] * 2
test["guess"] = pd.Series(np.zeros(len(test)), index=test.index)
test["other"] = np.arange(len(test))
scaled = pd.DataFrame(StandardScaler().fit_transform(train[columns]), columns=columns, index=train.index)
scaled["y"] = train["y"]
left, right = train[columns].reset_index(drop=True), train["y"].reset_index(drop=True)
print(pd.concat([left, right], axis=1).shape, pd.concat([train[columns], train["y"]], axis=1).shape)
left["y"] = right
ordered = df.sort_values("a")
ordered["b2"] = df["b"].rank()
print((ordered["b2"] - df["b"].rank()).abs().sum())
counted = df.groupby("shop")["a"].mean().reset_index()
part = df[df["b"] > 4].copy()
clean = part.reset_index(drop=True)
deep = pd.DataFrame(rng.normal(0, 1, (len(clean), 2)), columns=["d", "e"])
print(pd.concat([clean, deep], axis=1).shape, clean.join(deep).shape, pd.Series(np.ones(len(clean))) - clean["y"])
clean["d"], part["again"] = deep["d"], df["y"]
mixed = df.sample(frac=1, random_state=0).reset_index(drop=True)
mixed["z"] = mixed["a"] * 2
model.fit(mixed[columns], mixed["y"])
model.fit(mixed[columns], pd.Series(mixed["y"].to_numpy()))
risen = df.sort_values("a")
model.fit(risen[columns].to_numpy(), risen["y"].values)
model.fit(risen[columns], df["y"].loc[risen.index])
kept = df.reset_index()
kept["q"] = df["a"]
print(df.index.values.sum(), df.columns.to_numpy())
print(df.merge(counted, on="shop").shape)
""",
    "metrics": """
model.fit(train[columns], train["y"])
guess, score = model.predict(test[columns]), model.predict_proba(test[columns])
print(precision_score(test["y"], guess), log_loss(test["y"], score), roc_auc_score(test["y"], score[:, 1]))
print(accuracy_score(guess, test["y"]), mean_squared_error(guess, test["y"]))
perfect = KNeighborsClassifier(1).fit(train[columns], train["y"]).predict(train[columns])
print(precision_score(train["y"], perfect))
""",
    "a network over folds": """
def network():
    return nn.Sequential(nn.Linear(12, 4), nn.ReLU(), nn.Linear(4, 1))
def fold(net, fit, held):
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(3):
        loss = nn.functional.mse_loss(net(values[fit])[:, 0], truth[fit])
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            net(values[held]), net(values[fit])
values, truth = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
again = network()
start = {name: value.clone() for name, value in again.state_dict().items()}
for fit, held in KFold(4).split(x):
    fold(network(), fit, held)
    again.load_state_dict(start)
    fold(again, fit, held)
shown = [train_test_split(np.arange(400), random_state=0), train_test_split(np.arange(400), random_state=1)]
for fit, held in shown:
    fold(network(), fit, held)
plain = network()
for _ in range(3):
    fold(plain, np.arange(300), np.arange(300, 400))
fold(plain, np.arange(400), np.arange(400))
""",
}


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_found_in_healthy(tmp_path, name):
    seen, found, _ = shown(tmp_path, HEALTHY[name])
    assert found == [], [each.facts for each in seen.findings]
