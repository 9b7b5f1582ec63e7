"""The documentation site: `make docs` builds it into docs/_build/html, without network."""

import os
import sys
import tomllib
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # examples run side by side, one thread each

HERE = Path(__file__).parent
PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXAMPLES = ("tutorials", "gallery", "papers")  # folders of scripts that run while the site is built
sys.path.insert(0, str(HERE / "_extensions"))

import accessible_markup
import array_like
import descriptions
import fitted_attributes
import internal_references
import leaderboards
import long_code
import math_markup
import notebooks
import result_tables
from sphinx.ext import autosummary

import ordinate

project = "Ordinate"
author = PROJECT["authors"][0]["name"]
copyright = author  # noqa: A001 - Sphinx's name
release = version = ordinate.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", *EXAMPLES]  # scripts, whose pages are generated
nitpicky = True

# Markdown
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]  # the settings of the gallery hold functions

# API pages
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary.WELL_KNOWN_ABBREVIATIONS += ("eq.", "eqs.", "Fig.", "Figs.")  # end no sentence
autodoc_typehints = "signature"
autodoc_inherit_docstrings = False  # of Lightning, whose pages are not here
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_default_options = {
    "exclude-members": "set_fit_request, set_predict_request, set_score_request, set_transform_request, "
    "get_metadata_routing, set_output, __init__, learn_labels, margins_by_rank, rule_for, fact, weights_in_training, "
    "unweighted, keep, checked_method, checked_decision, method_name",
}
napoleon_numpy_docstring = True  # what is inherited from scikit-learn
napoleon_use_rtype = False
napoleon_use_ivar = True
maximum_signature_line_length = 100
copybutton_exclude = ".linenos, .gp, .go"
add_module_names = False
toc_object_entries_show_parents = "hide"  # names of methods fit the width of "On this page"
templates_path = ["_templates"]

# Gallery
warnings.filterwarnings("ignore", message=".*does not have many workers.*")
sphinx_gallery_conf = {
    "examples_dirs": [str(HERE / name) for name in EXAMPLES],
    "gallery_dirs": [f"generated/{name}" for name in EXAMPLES],
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "first_notebook_cell": '# Install Ordinate in a copy of its repository: pip install ".[demo,images,pictures]"',
    "write_computation_times": False,
    "show_memory": False,
    "min_reported_time": 1e9,  # times belong to the machine that built the site
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "parallel": int(os.environ.get("DOCS_JOBS", "2")),
    "image_scrapers": ("matplotlib",),
    "ignore_repr_types": r"matplotlib",
    "reset_modules": ("gallery_style.reset",),
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("ordinate",),
    "inspect_global_variables": False,
    "plot_gallery": "True",
}

# Pages
html_theme = "pydata_sphinx_theme"
html_title = "Ordinate"
html_baseurl = PROJECT["urls"]["Documentation"] + "/"
html_static_path = ["_static"]
html_css_files = ["ordinate.css"]
html_favicon = "_static/mark.svg"
html_context = {"default_mode": "auto"}  # light or dark as the browser says
html_search_scorer = str(HERE / "_extensions" / "scorer.js")  # guides before API pages
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "logo": {"text": "Ordinate", "image_light": "_static/mark.svg", "image_dark": "_static/mark.svg", "alt_text": ""},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
WITHOUT_SUBPAGES = ("index", "changes", "methods", "versions", "generated/leaderboards")
html_sidebars = {page: [] for page in WITHOUT_SUBPAGES}


def setup(app):
    """Register what is specific to this site."""
    accessible_markup.register(app)
    array_like.register(app)
    descriptions.register(app)
    fitted_attributes.register(app)
    long_code.register(app)
    math_markup.register(app)
    notebooks.register(app)
    internal_references.register(app)
    result_tables.register(app)
    leaderboards.register(app)
