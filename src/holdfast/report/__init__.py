"""What is shown to people: pictures, and one page of all records. Nothing here imports torch."""

from holdfast.report.figures import Picture
from holdfast.report.published import Published
from holdfast.report.stability_figure import errors_picture, growth_picture, regions_picture
from holdfast.report.whole import Report, report, write_report

__all__ = [
    "Picture",
    "Published",
    "Report",
    "errors_picture",
    "growth_picture",
    "regions_picture",
    "report",
    "write_report",
]
