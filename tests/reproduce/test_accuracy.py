"""Accuracies equal literal counts and do not depend on the names of labels."""

from itertools import permutations

import numpy as np
import pytest

from reproduce.accuracy import errors, majority_accuracy, matching_accuracy


@pytest.mark.parametrize("seed", range(5))
def test_accuracies_equal_literal_counts(seed):
    rng = np.random.default_rng(seed)
    classes, labels = rng.integers(3, size=40), rng.integers(3, size=40)
    majority = sum(np.bincount(classes[labels == k]).max() for k in np.unique(labels)) / 40
    matched = max((np.array(names)[labels] == classes).mean() for names in permutations(range(3)))
    assert majority_accuracy(classes, labels) == pytest.approx(majority)
    assert matching_accuracy(classes, labels) == pytest.approx(matched)
    assert errors(classes, labels) == round(40 * (1 - matched))
    share = np.bincount(classes).max() / 40
    assert majority >= max(matched, share)


def test_names_of_labels_do_not_matter():
    classes, labels = np.array(list("aabbcc")), np.array([5, 5, 9, 9, -1, 5])
    for accuracy in (majority_accuracy, matching_accuracy):
        assert accuracy(classes, labels) == accuracy([0, 0, 1, 1, 2, 2], [1, 1, 2, 2, 0, 1])


def test_numbers_of_clusters_and_classes_may_differ():
    assert matching_accuracy([0, 0, 1, 1], [0, 1, 2, 3]) == 0.5
    assert majority_accuracy([0, 0, 1, 1], [0, 1, 2, 3]) == 1
    assert matching_accuracy([0, 0, 1, 1], [7, 7, 7, 7]) == 0.5


@pytest.mark.parametrize(("classes", "labels"), [([], []), ([1, 2], [1]), ([[1]], [[1]])])
def test_bad_shapes_are_rejected(classes, labels):
    with pytest.raises(ValueError, match=r"Both must be \(n,\)"):
        majority_accuracy(classes, labels)
