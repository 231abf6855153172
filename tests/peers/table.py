"""The table as a stranger has it: `groove.h`, which `groove emit` writes beside the Verilog."""

import re


class Table:
    """Numbers of `groove.h` by name, without the GROOVE_ in front."""

    def __init__(self, path):
        text = open(path, encoding="utf-8").read()
        self.numbers = {}
        pattern = r"^#define GROOVE_(\w+) \(?(1u << )?(0x[0-9a-f]+|\d+)u?\)?(?: /\*.*)?$"
        for name, shift, number in re.findall(pattern, text, re.M):
            self.numbers[name] = 1 << int(number, 0) if shift else int(number, 0)
        for name, number in re.findall(r"^\tGROOVE_(\w+) = (\d+),", text, re.M):
            self.numbers[name] = int(number)

    def __getitem__(self, name):
        return self.numbers[name]

    def record(self, name, bits):
        """Fields of a record by name, in lower case."""
        prefix, suffix = f"{name}_", "_LSB"
        fields = {}
        for key, lsb in self.numbers.items():
            if key.startswith(prefix) and key.endswith(suffix):
                field = key[len(prefix) : -len(suffix)]
                fields[field.lower()] = bits >> lsb & (1 << self[f"{prefix}{field}_WIDTH"]) - 1
        return fields

    def coded(self, group, code):
        """Name of a code, as reports have it."""
        prefix = f"{group}_"
        for key, number in self.numbers.items():
            if key.startswith(prefix) and number == code:
                return key[len(prefix) :].lower().replace("_", "-")
        raise KeyError(f"{group} has no code {code}")

    def gso_names(self, bits):
        names = [k for k in self.numbers if k.startswith("GSO_") and bits & self[k]]
        return "|".join(name[len("GSO_") :] for name in names)

    def comment(self, fields, frames):
        """One line for a delivery, as `groove sim --out` words it."""
        text = f"queue {fields['queue']}, hash 0x{fields['hash']:08x}"
        if frames is not None:
            one, first, last = len(frames) == 1, frames[0], frames[-1]
            text += f", frame {first}" if one else f", {len(frames)} frames {first}..{last}"
        if fields["gso_segs"]:
            text += f", gso_size {fields['gso_size']}, gso_segs {fields['gso_segs']}"
            text += f", gso_type {self.gso_names(fields['gso_type'])}"
        text += [
            ", csum none",
            f", csum unnecessary level {fields['csum_level']}",
            f", csum partial start {fields['csum_start']} offset {self['TCP_CSUM_OFFSET']}",
        ][fields["csum"]]
        if fields["alone_reason"]:
            return f"{text}, alone {self.coded('ALONE_REASON', fields['alone_reason'])}"
        return f"{text}, end {self.coded('END_REASON', fields['end_reason'])}"


def with_tag(fields, frame):
    """A frame with its stripped tag put back, as `groove sim --out` writes it."""
    if not fields["vlan_valid"]:
        return frame
    tpid = [0x8100, 0x88A8][fields["vlan_tpid"]]
    tag = tpid.to_bytes(2, "big") + fields["vlan_tci"].to_bytes(2, "big")
    return frame[:12] + tag + frame[12:]
