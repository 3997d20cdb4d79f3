"""Repairs of the tree: what a converter would break is brought into a plain form first.

``code`` makes one ``pre`` with a language of every code listing, ``math`` one ``tex`` node of every formula,
``layout`` blocks of tables that only place things, ``links`` absolute addresses and real images.
"""
