"""The tables of a results file, and how the file of an earlier version gets them. docs/results.md describes them."""

SCHEMA = 7
"""The number of this schema, which the table `meta` holds."""

_TABLES = """
CREATE TABLE meta (schema INTEGER NOT NULL);
CREATE TABLE runs (
    key VARCHAR PRIMARY KEY, made TIMESTAMP NOT NULL, version VARCHAR NOT NULL, machine VARCHAR NOT NULL,
    clock UBIGINT NOT NULL, config VARCHAR NOT NULL, kernel VARCHAR NOT NULL, initrd VARCHAR NOT NULL,
    command_line VARCHAR NOT NULL, stop VARCHAR NOT NULL, status INTEGER NOT NULL, reason VARCHAR NOT NULL,
    console BLOB NOT NULL, host_seconds DOUBLE NOT NULL);
CREATE TABLE counters (
    run VARCHAR NOT NULL, region INTEGER NOT NULL, name VARCHAR NOT NULL, value UBIGINT NOT NULL,
    PRIMARY KEY (run, region, name));
CREATE TABLE samples (
    run VARCHAR NOT NULL, cycle UBIGINT NOT NULL, name VARCHAR NOT NULL, value UBIGINT NOT NULL,
    PRIMARY KEY (run, cycle, name));
CREATE TABLE dumps (
    run VARCHAR NOT NULL, number INTEGER NOT NULL, state VARCHAR NOT NULL, PRIMARY KEY (run, number));
CREATE TABLE points (
    sweep VARCHAR NOT NULL, made TIMESTAMP NOT NULL, number INTEGER NOT NULL, settings VARCHAR NOT NULL,
    unit VARCHAR NOT NULL, value DOUBLE, run VARCHAR NOT NULL, reason VARCHAR NOT NULL,
    PRIMARY KEY (sweep, made, number));
CREATE TABLE cells (
    experiment VARCHAR NOT NULL, made TIMESTAMP NOT NULL, number INTEGER NOT NULL, row_name VARCHAR NOT NULL,
    machine VARCHAR NOT NULL, unit VARCHAR NOT NULL, claims VARCHAR[] NOT NULL,
    before_run VARCHAR, after_run VARCHAR NOT NULL, before DOUBLE, after DOUBLE, ratio DOUBLE,
    published_before VARCHAR, published_after VARCHAR, published_ratio VARCHAR,
    verdict VARCHAR NOT NULL, reason VARCHAR NOT NULL,
    low DOUBLE, high DOUBLE, placements INTEGER DEFAULT 1, pairs DOUBLE[][],
    PRIMARY KEY (experiment, made, number));
"""
_SINCE_2_TABLES = """
CREATE TABLE profiles (run VARCHAR PRIMARY KEY, folded VARCHAR NOT NULL);
CREATE TABLE baselines (
    name VARCHAR NOT NULL, made TIMESTAMP NOT NULL, number INTEGER NOT NULL, label VARCHAR NOT NULL,
    run VARCHAR NOT NULL, PRIMARY KEY (name, made, number));
"""
_SINCE_3_TABLES = """
CREATE TABLE images (sha256 VARCHAR PRIMARY KEY, banner VARCHAR NOT NULL, configuration VARCHAR NOT NULL);
"""
_SINCE_1 = """
ALTER TABLE cells ADD COLUMN low DOUBLE;
ALTER TABLE cells ADD COLUMN high DOUBLE;
ALTER TABLE cells ADD COLUMN placements INTEGER DEFAULT 1;
"""
_SINCE_4 = """
ALTER TABLE cells ADD COLUMN pairs DOUBLE[][];
"""
_SINCE_5_TABLES = """
CREATE TABLE inputs (
    experiment VARCHAR NOT NULL, made TIMESTAMP NOT NULL, number INTEGER NOT NULL, row_name VARCHAR NOT NULL,
    machine VARCHAR NOT NULL, variant VARCHAR NOT NULL, before DOUBLE, after DOUBLE, ratio DOUBLE,
    settings VARCHAR, verdict VARCHAR NOT NULL, PRIMARY KEY (experiment, made, number));
"""
_SINCE_6 = """
ALTER TABLE inputs ADD COLUMN settings VARCHAR;
"""
UPGRADES = {
    1: _SINCE_1 + _SINCE_2_TABLES + _SINCE_3_TABLES + _SINCE_4 + _SINCE_5_TABLES,
    2: _SINCE_2_TABLES + _SINCE_3_TABLES + _SINCE_4 + _SINCE_5_TABLES,
    3: _SINCE_3_TABLES + _SINCE_4 + _SINCE_5_TABLES,
    4: _SINCE_4 + _SINCE_5_TABLES,
    5: _SINCE_5_TABLES,
    6: _SINCE_6,
}
"""By the number of an earlier schema: the statements that bring its file up to this one."""
CREATION = _TABLES + _SINCE_2_TABLES + _SINCE_3_TABLES + _SINCE_5_TABLES
"""The statements that make the tables of a new file."""

_NAMED = "experiment IN (SELECT unnest($1::VARCHAR[]))"
_OF_TABLES = f"""(SELECT unnest([before_run, after_run]) FROM cells AS one
WHERE {_NAMED} AND made = (SELECT max(made) FROM cells AS other WHERE other.experiment = one.experiment))"""
LATEST = {
    "cells": "SELECT * FROM cells AS one "
    f"WHERE {_NAMED} AND made = (SELECT max(made) FROM cells AS other WHERE other.experiment = one.experiment) "
    "ORDER BY experiment, number",
    "inputs": f"SELECT * FROM inputs AS one WHERE {_NAMED} AND made = (SELECT max(made) FROM inputs AS other "
    "WHERE (other.experiment, other.row_name, other.machine) = (one.experiment, one.row_name, one.machine)) "
    "ORDER BY experiment, made, number",
    "runs": f"SELECT * FROM runs WHERE key IN {_OF_TABLES} ORDER BY machine, command_line, key",
    "counters": f"SELECT * FROM counters WHERE run IN {_OF_TABLES} ORDER BY name, region, run",
}
"""By table: the query for the latest tables of the experiments of a list, with the runs that their rows name."""
