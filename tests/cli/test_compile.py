"""What is compiled ahead of time takes the kernels of small clusters and of those of many words."""

from scstream.cli import compile as compiling
from scstream.kernels import counts, standing
from scstream.sampler.standing import MANY_NUMBERS


def test_rows_of_many_words_take_the_kernels_of_clusters_of_many_numbers():
    *_, (model, batches) = compiling._streams("multinomial")
    compiling._use(model, batches)
    clusters = len(model.clusters_)
    assert 2 * clusters * batches[0].shape[1] >= MANY_NUMBERS
    for kernel in (standing.summed, standing.divided, standing.still):
        assert kernel.signatures
    for kernel in (counts.counts_marginal, counts.joined_marginal, counts.take_rows):
        assert kernel.signatures
