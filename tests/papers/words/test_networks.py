import pytest
import torch
from torch import nn

from ordinate_papers.words.networks import BiLSTM
from tests.encoders.test_text import TEXTS, VECTORS, of_texts, padded


def test_the_vector_of_a_text_is_the_maximum_over_its_words_of_two_layers_both_ways():
    sentences = of_texts().double()
    weights = sentences.lstm.state_dict()

    def pass_over(x, layer, suffix):  # one direction of one layer, cell by cell
        cell = nn.LSTMCell(x.shape[1], 4).double()
        cell.load_state_dict({name: weights[f"{name}_l{layer}{suffix}"] for name in cell.state_dict()})
        state, states = None, []
        for step in x:
            state = cell(step[None], state)
            states.append(state[0][0])
        return torch.stack(states)

    for text, found in zip(TEXTS, sentences(padded(TEXTS, 9)), strict=True):
        x = VECTORS[text].double()
        for layer in (0, 1):
            there, back = pass_over(x, layer, ""), pass_over(x.flip(0), layer, "_reverse").flip(0)
            x = torch.cat([there, back], dim=1)
        torch.testing.assert_close(found, x.amax(dim=0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("frozen", [True, False])
def test_word_vectors_learn_unless_frozen_and_padding_never(frozen):
    sentences = BiLSTM(VECTORS, hidden=4, frozen=frozen)
    sentences(padded(TEXTS, 6)).sum().backward()
    gradient = sentences.words.weight.grad
    if frozen:
        assert gradient is None
    else:
        assert not gradient[0].any()
        assert gradient[[1, 2, 3]].abs().sum(dim=1).min() > 0
