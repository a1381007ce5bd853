-- The tables of a fleet as views: run this where each directory is one trace, as `strata export --to parquet -o NAME` wrote
-- it. `trace` is the name of the directory.
CREATE OR REPLACE VIEW event AS SELECT *, regexp_extract(file_name, '([^/]+)/event/host=', 1) AS trace FROM
    read_parquet('*/event/**/*.parquet', hive_partitioning = true, union_by_name = true, filename = 'file_name');
CREATE OR REPLACE VIEW span AS SELECT *, regexp_extract(file_name, '([^/]+)/span/host=', 1) AS trace FROM
    read_parquet('*/span/**/*.parquet', hive_partitioning = true, filename = 'file_name');
CREATE OR REPLACE VIEW state AS SELECT *, regexp_extract(file_name, '([^/]+)/state/host=', 1) AS trace FROM
    read_parquet('*/state/**/*.parquet', hive_partitioning = true, filename = 'file_name');
CREATE OR REPLACE VIEW loss AS SELECT *, regexp_extract(file_name, '([^/]+)/loss/host=', 1) AS trace FROM
    read_parquet('*/loss/**/*.parquet', hive_partitioning = true, filename = 'file_name');
CREATE OR REPLACE VIEW source AS SELECT *, regexp_extract(file_name, '([^/]+)/source/host=', 1) AS trace FROM
    read_parquet('*/source/**/*.parquet', hive_partitioning = true, filename = 'file_name');
CREATE OR REPLACE VIEW clock AS SELECT *, regexp_extract(file_name, '([^/]+)/clock/host=', 1) AS trace FROM
    read_parquet('*/clock/**/*.parquet', hive_partitioning = true, filename = 'file_name');
