"""A cluster of hosts on one machine: namespaces with HDFS, Spark and writers in them. See README.md."""
