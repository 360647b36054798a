"""Orders arrive in a queue as JSON. They become rows of a table; large ones go to a queue of alerts."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

spark = SparkSession.active()


@dp.table
def orders() -> DataFrame:
    """Each order once: the checkpoint of this table is a consumer of the queue, which retains what it has not read."""
    records = spark.readStream.format("mmapqueue").load(spark.conf.get("orders.queue"))
    order = f.from_json(f.col("value").cast("string"), "id LONG, customer STRING, amount DOUBLE")
    return records.select(order.alias("order"), "timestamp", "partition", "offset").select(
        "order.*", "timestamp", "partition", "offset"
    )


dp.create_sink("alerts", "mmapqueue", {"path": str(spark.conf.get("orders.alerts")), "capacity": "64m"})


@dp.append_flow(target="alerts")
def large_orders() -> DataFrame:
    """Each large order exactly once, also after a failed update: it reads the table, so the queue is read once."""
    large = spark.readStream.table("orders").where("amount >= 1000")
    return large.select(f.to_json(f.struct("id", "customer", "amount")).alias("value"))
