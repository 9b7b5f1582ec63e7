"""Adapters in several real processes, where their trainer's package is not needed."""

import torch

from ordinate import functional
from ordinate.adapters import SentenceLoss
from ordinate.errors import OrdinateError
from ordinate.losses import MMNPLoss, SupCRLoss
from tests import processes


def in_two_processes(rank):
    mine = slice(0, 3) if rank == 0 else slice(3, 8)
    vectors = torch.eye(8)[mine].requires_grad_()
    texts, labels = [{"sentence_embedding": vectors}], torch.arange(8)[mine] % 3
    messages = []
    for loss, head in (MMNPLoss(3), None), (SupCRLoss(), torch.nn.Linear(8, 2)):
        try:
            SentenceLoss(torch.nn.Identity(), loss, head)(texts, labels)
        except OrdinateError as error:
            messages.append(str(error))
    return {"messages": messages, "loss": SentenceLoss(torch.nn.Identity(), SupCRLoss())(texts, labels).detach()}


def test_sentences_are_contrasted_with_those_of_all_processes_and_what_would_drift_apart_is_an_error(tmp_path):
    expected = functional.supcr(torch.eye(8), torch.arange(8) % 3)
    for outcome in processes.together(2, in_two_processes, tmp_path / "meeting"):
        assert [message.partition(":")[0] for message in outcome["messages"]] == ["loss", "head"]
        torch.testing.assert_close(outcome["loss"], expected)
