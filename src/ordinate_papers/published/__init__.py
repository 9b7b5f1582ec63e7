"""The training code of the papers' authors as it runs, its errors included, for any data.

:mod:`ordinate.methods` follows the papers. Where the authors' code differs from its own paper, the difference is here.
"""
