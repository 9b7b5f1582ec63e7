"""Members are networks of their own that share the batch."""

import torch

from ordinate.encoders.members import BlendEncoder, MemberEncoder


def test_a_member_is_the_network_of_its_own_weights():
    encoder = MemberEncoder(3, member_dim=4, members=2, widths=(5, 6), numeric=[0, 2]).double()
    x = torch.randn(7, 3, dtype=torch.float64)
    phase = [
        2 * torch.pi * x[:, column, None] * encoder.periodic.frequencies[place] for place, column in enumerate([0, 2])
    ]
    phase = torch.cat(phase, 1)
    for member, embeddings in enumerate(encoder(x).split(4, dim=1)):
        hidden = torch.cat([x, phase.sin(), phase.cos()], 1)
        for layer in encoder.layers[:-1]:
            hidden = hidden @ layer.weight[member] + layer.bias[member] if hasattr(layer, "weight") else layer(hidden)
        last = encoder.layers[-1]
        torch.testing.assert_close(embeddings, hidden @ last.weight[member] + last.bias[member])


def test_members_of_samples_of_their_own_are_those_of_the_same_samples():
    encoder = MemberEncoder(3, member_dim=4, members=2, numeric=[0, 2])
    x = torch.randn(2, 7, 3)
    own = encoder.by_member(x)
    for member in range(2):
        torch.testing.assert_close(own[member], encoder.by_member(x[member])[member])


def test_a_member_learns_from_its_own_loss_alone():
    encoder = MemberEncoder(3, member_dim=4, members=3, numeric=[0])
    encoder(torch.randn(5, 3))[:, 4:8].sum().backward()
    for parameter in encoder.parameters():
        assert parameter.grad[1].abs().sum() > 0
        assert parameter.grad[[0, 2]].abs().sum() == 0


def test_columns_of_the_parts_stand_side_by_side():
    members, linear = MemberEncoder(3, member_dim=4, members=2), torch.nn.Linear(3, 1)
    encoder, x = BlendEncoder(members, linear), torch.randn(5, 3)
    assert encoder.out_features == 9
    torch.testing.assert_close(encoder(x), torch.cat([members(x), linear(x)], 1))
