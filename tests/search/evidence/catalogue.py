"""Catalogues made by hand."""

from __future__ import annotations

import pyarrow as pa

from rars.data import Dataset, writing_dataset
from rars.data.schema import ITEMS


def make_catalogue(folder, items):
    """A dataset of items given as dictionaries; what they leave out is null."""
    columns = {
        field.name: pa.array([item.get(field.name) for item in items], field.type)
        for field in ITEMS
        if field.name != "id"
    }
    ids = pa.array([str(item.get("id", row)) for row, item in enumerate(items)])
    with writing_dataset(folder, name="corner", licence="CC0-1.0") as writer:
        writer.add("items", pa.table({"id": ids, **columns}))
    return Dataset.load(folder)


def item(title, brand=None, color=None, text=None, **attributes):
    return {
        "title": title,
        "brand": brand,
        "color": color,
        "text": text,
        "attributes": list(attributes.items()) or None,
    }


CORNER = [
    item("Acme power bank 10000 mAh", "Acme", "Black"),
    item("Sony headphones WH-1000", "Sony", "white"),
    item("Sony Ericsson phone", "Sony Ericsson"),
    item("Crew socks, pack of 6", "Gold Toe", "Navy Blue"),
    item("Gold ring, size 7", "Gold"),
    *[item(f"Gold plated chain {n}", "Acme", "gold") for n in range(3)],
    item("Tape 5 m", "3M"),
    item("HDMI cable 3m", "Acme"),
    item("USB cable 3m", "Acme"),
    item("HDMI cable 3 m, white", "Acme"),
    item("Case of glasses", "Case"),
    *[item(f"Phone case {n}", "Acme") for n in range(60)],
    item("Lip balm", "L'Oréal", text="For dry lips. 12 oz (340 g)"),
    item("Night cream", "No 7"),
    item("Shirt", "Ralph Lauren", "azul marino"),
    item("Generic mug", "Generic", "rojo"),
    item("ヘッドホン ブラック", "ソニー(SONY)", "ブラック"),
    item("Everno（エヴェルノ） 水筒 500ml 黒", "Everno"),
    item("水筒 1L 水色", "Everno"),
    item("Poster 30 x 40 cm", "Acme", None, "Printed on 200 gsm paper"),
    item("Televisor 95 pulgadas", "Acme"),
    item("Botella 1,5 litros verde oliva", "Acme"),
]
