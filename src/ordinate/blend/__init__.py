"""The parts of a blend other than its networks, and the weights of all parts.

Each part is fitted by one function, from :class:`~ordinate.blend.samples.FoldedSamples` and a
:class:`~ordinate.blend.task.Task` to a :class:`~ordinate.blend.part.Part`.
"""
