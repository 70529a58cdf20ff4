# SPDX-License-Identifier: MIT
"""What the pytest suites share: throw-away machines, their root trees, a tiny model, waiting."""
