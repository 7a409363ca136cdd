import RoostKV
