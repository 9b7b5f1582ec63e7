"""Members are networks of their own that share the batch."""

import torch

from ordinate.encoders.members import BlendEncoder, MemberEncoder


def test_a_member_is_the_network_of_its_own_weights():
    encoder = MemberEncoder(3, member_dim=4, members=2, widths=(5, 6), numeric=[0, 2]).double()
    x = torch.randn(7, 3, dtype=torch.float64)
    periodic, *layers = encoder.layers
    for member, embeddings in enumerate(encoder(x).split(4, dim=1)):
        waves = []
        for place, column in enumerate(periodic.numeric.tolist()):
            phase = 2 * torch.pi * x[:, column, None] * periodic.frequencies[member, 0, place]
            both = torch.cat([phase.sin(), phase.cos()], 1)
            waves.append((both @ periodic.weight[member, place] + periodic.bias[member, 0, place]).relu())
        hidden = torch.cat([x, *waves], 1)
        for layer in layers[:-1]:
            hidden = hidden @ layer.weight[member] + layer.bias[member] if hasattr(layer, "weight") else layer(hidden)
        torch.testing.assert_close(embeddings, hidden @ layers[-1].weight[member] + layers[-1].bias[member])


def test_a_member_learns_from_its_own_loss_alone():
    encoder = MemberEncoder(3, member_dim=4, members=3)
    encoder(torch.randn(5, 3))[:, 4:8].sum().backward()
    for parameter in encoder.parameters():
        assert parameter.grad[1].abs().sum() > 0
        assert parameter.grad[[0, 2]].abs().sum() == 0


def test_columns_of_the_parts_stand_side_by_side():
    members, linear = MemberEncoder(3, member_dim=4, members=2), torch.nn.Linear(3, 1)
    encoder, x = BlendEncoder(members, linear), torch.randn(5, 3)
    assert encoder.out_features == 9
    torch.testing.assert_close(encoder(x), torch.cat([members(x), linear(x)], 1))
