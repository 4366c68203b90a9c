"""Pipelines and grid search
=========================

The models are scikit-learn estimators, so you can use them in pipelines and grid searches. There
are no labels to score against, so the search uses the fuzzy silhouette of held-out rows, which is
high if rows are close to their own cluster and far from the next one.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from softkern import FuzzyCMeans
from softkern.selection import validity_scorer

wine = load_wine()
pipeline = make_pipeline(StandardScaler(), PCA(), FuzzyCMeans(kernel="linear"))
settings = {"pca__n_components": [2, 3, 5], "fuzzycmeans__n_clusters": [2, 3, 4, 5]}
scorer = validity_scorer("fuzzy_silhouette")
search = GridSearchCV(pipeline, settings, scoring=scorer, cv=3).fit(wine.data)
print(search.best_params_)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
scores = search.cv_results_["mean_test_score"].reshape(4, 3)
for place, components in enumerate(settings["pca__n_components"]):
    left.plot(settings["fuzzycmeans__n_clusters"], scores[:, place], "o-", label=components)
left.legend(title="components", frameon=False)
left.set(xlabel="number of clusters", ylabel="fuzzy silhouette", xticks=[2, 3, 4, 5])
best = search.best_estimator_
places = best[:-1].transform(wine.data)
right.scatter(*places[:, :2].T, c=[f"C{k}" for k in best.predict(wine.data)], s=18)
right.set(
    title=f"178 wines, {best[-1].n_clusters} clusters",
    xlabel="component 1",
    ylabel="component 2",
)
plt.show()
