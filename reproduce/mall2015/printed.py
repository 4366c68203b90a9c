"""The printed values: numbers of clusters, counts, row numbers and correlations.

Row numbers count from one, in the order of the files.
"""

__all__ = [
    "A1",
    "ECC",
    "EUROPE",
    "FINLAND",
    "JOENSUU",
    "OUTLIERS",
    "OVERLAPS",
    "R15",
    "TABLE_1",
    "TAU",
    "THREE",
]

THREE = "3 Gaussians"
A1, EUROPE, FINLAND, JOENSUU, R15 = (
    f"shapes/{name}" for name in ("a1", "europe", "mopsi_finland", "mopsi_joensuu", "r15")
)
# Table 1: clusters, overlap points, outlier points
TABLE_1 = {
    A1: (20, 281, 165),
    "shapes/aggregation": (5, 32, 0),
    EUROPE: (2, 0, 81),
    "iris": (3, 3, 0),
    FINLAND: (6, 510, 1),
    JOENSUU: (4, 35, 31),
    R15: (15, 11, 5),
    "seeds": (3, 5, 0),
    THREE: (3, 38, 13),
    "wine": (3, 6, 0),
}
# Table 2, from the least influential on. Three of Europe's exceed its 169,308 rows; without their
# last digit they are 95636, 73516 and 73514.
OUTLIERS = {
    A1: (864, 2951, 2734, 2042, 1263, 1420, 2935, 993, 1983, 2006),
    EUROPE: (163927, 162749, 95636, 157332, 151013, 73516, 126906, 73514, 144385, 95557),
    JOENSUU: (5732, 5734, 5728, 5731, 1951, 1146, 1949, 1647, 1652, 5772),
}
# Table 3, from the most influential on
OVERLAPS = {
    A1: (2092, 2000, 2086, 2055, 2093, 2011, 2032, 2069),
    FINLAND: (3172, 3174, 3078, 3105, 2662, 3254, 3462, 458),
    JOENSUU: (5051, 1183, 3911, 3910, 1184, 1721, 1978, 1634),
}
# section 4: eq. 4 with D-Rank and with IR-Rank
TAU = {A1: (-0.1, -0.005), FINLAND: (0.123, 0.218), JOENSUU: (0.355, 0.45)}
ECC = 1390  # the document of "Adaptive Development of Connectionist Decoders ..."
