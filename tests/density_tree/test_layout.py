import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from softkern.density_tree.layout import dendrogram, flatten, united
from softkern.density_tree.tree import AlphaTree


def trees():
    value = st.sampled_from([0.1, 0.2, 0.2000001, 0.3, 0.5, 0.7, 0.9])

    def build(heights, draw_edges, saddles):
        n = len(heights)
        edges = [(k % (i + 1), i + 1) for i, k in zip(range(n - 1), draw_edges, strict=False)]
        return AlphaTree(np.array(edges).reshape(-1, 2), saddles[: n - 1], heights)

    def of_size(n):
        return st.builds(
            build,
            st.lists(value, min_size=n, max_size=n),
            st.lists(st.integers(0, 100), min_size=n, max_size=n),
            st.lists(value, min_size=n, max_size=n),
        )

    return st.integers(1, 12).flatmap(of_size)


@settings(max_examples=60, deadline=None)
@given(trees(), st.sampled_from([0.05, 0.1, 0.15, 0.2, 0.4, 0.7, 0.8]))
def test_every_cluster_of_every_level_is_contiguous_in_the_order(tree, alpha):
    order, gaps = flatten(len(tree.heights), tree.edges, tree.saddles)
    assert sorted(order.tolist()) == list(range(len(tree.heights)))
    run = np.empty(len(order), dtype=int)
    run[order] = np.concatenate([[0], np.cumsum(gaps <= alpha)])
    truth = tree.labels_at(alpha)
    inside = truth >= 0
    assert np.array_equal(inside, tree.heights > alpha)
    pairs = set(zip(run[inside].tolist(), truth[inside].tolist(), strict=True))
    assert len(pairs) == len(set(run[inside].tolist())) == len(set(truth[inside].tolist()))


def test_components_without_a_common_edge_stay_separate():
    tree = AlphaTree([[0, 1]], saddles=[0.5], heights=[0.9, 0.8, 0.7])
    assert flatten(3, tree.edges, tree.saddles)[1].tolist() == [0.5, -np.inf]


@given(trees())
def test_a_branch_consists_of_the_points_merged_into_it(tree):
    n = len(tree.heights)
    merged = united(n, tree.edges)[1].tolist()
    members = [{i} for i in range(n)]
    for i, j in merged:
        members.append(members[i] | members[j])
    assert members[-1] == set(range(n))
    for (i, j), pair, saddle in zip(merged, tree.edges.tolist(), tree.saddles, strict=True):
        assert not members[i] & members[j]
        for end, branch in zip(pair, (i, j), strict=True):
            assert end in members[branch]
        # just below its own level a branch is one cluster
        labels = tree.labels_at(np.nextafter(saddle, 0))
        inside = [k for k in members[i] | members[j] if labels[k] >= 0]
        assert len(set(labels[inside].tolist())) <= 1


# The dendrogram


def split_lines(drawn):
    stems = [line for line in drawn if line.x0 == line.x1]
    return stems, [line for line in drawn if line.x0 != line.x1]


def test_small_branches_are_absorbed_by_large_ones():
    heights = np.r_[np.full(60, 0.9), np.full(39, 0.8), 0.95]
    edges = [(i, i + 1) for i in range(99)]
    saddles = np.r_[np.full(59, 0.7), 0.2, np.full(38, 0.7), 0.3]
    stems, bars = split_lines(dendrogram(AlphaTree(edges, saddles, heights), smallest=0.05))
    assert [(bar.x0, bar.x1, bar.y0, bar.y1) for bar in bars] == [(0.0, 1.0, 0.2, 0.2)]
    by_place = {stem.x0: stem for stem in stems}
    assert [by_place[x].share for x in (0.0, 0.5, 1.0)] == [0.6, 1.0, 0.4]  # larger branch left
    assert [by_place[x].y1 for x in (0.0, 0.5, 1.0)] == [0.9, 0.2, 0.95]  # the point is a tip
    assert by_place[0.5].tips == (0, 99)


@given(trees())
def test_every_branch_is_drawn_if_none_is_too_small(tree):
    n = len(tree.heights)
    stems, bars = split_lines(dendrogram(tree, smallest=0.0))
    assert len(stems) == 2 * n - 1
    tips = sorted((stem for stem in stems if len(stem.tips) == 1), key=lambda stem: stem.x0)
    assert [stem.x0 for stem in tips] == list(range(n))
    assert sorted(stem.y1 for stem in tips) == sorted(tree.heights)
    assert sorted(bar.y0 for bar in bars) == sorted(tree.saddles)
    assert max(stem.share for stem in stems) == 1


def test_each_component_has_a_stem():
    stems, bars = split_lines(dendrogram(AlphaTree([[0, 1]], [0.5], [0.9, 0.8, 0.7])))
    assert [bar.y0 for bar in bars] == [0.5]
    assert {stem.x0: stem.y1 for stem in stems} == {0.0: 0.9, 0.5: 0.5, 1.0: 0.8, 2.0: 0.7}


def test_a_chain_of_thousands_is_drawn():
    n = 5000
    heights = np.linspace(0.9, 0.1, n)
    tree = AlphaTree(np.c_[np.arange(n - 1), np.arange(1, n)], heights[1:], heights)
    assert len(dendrogram(tree, smallest=0.0)) == 3 * n - 2
