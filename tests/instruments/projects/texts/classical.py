"""The same question by counted words, scaled, and a logistic regression."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler


def counts(texts):
    words = sorted("fast solid bright slow broken dim lamp engine very".split())
    return np.array([[each.lower().split().count(word) for word in words] for each in texts], dtype=np.float64)  # <- counts


def classical(train, y_train, test, y_test):
    scaler = StandardScaler()
    x = scaler.fit_transform(counts(train))  # <- scaler
    model = LogisticRegression(C=1.0)
    model.fit(x, y_train)  # <- fit
    scores = model.predict_proba(scaler.transform(counts(test)))[:, 1]  # <- scores
    return roc_auc_score(y_test, scores)  # <- metric
