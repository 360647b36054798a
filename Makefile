# Bare `make` lists the targets. Each one makes what it needs first, and only what has changed.

VERSION := $(shell sed -n 's/^version=//p' gradle.properties)

# Another Python has a virtual environment of its own, so that each keeps what is installed for it.
PYTHON ?= python3
VENV   := $(if $(filter python3,$(PYTHON)),.venv,build/venv-$(notdir $(PYTHON)))
PY     := $(VENV)/bin/python

# A daemon pays off at a desk; on a build host it would only be left behind.
GRADLE := scripts/gradle --console=plain $(if $(CI),--quiet --no-daemon)

# What is large shows its progress.
PIP_INSTALL := pip install --disable-pip-version-check --require-hashes $(if $(CI),--quiet)

JAR     := python/src/mmapqueue/jars/mmapqueue-$(VERSION).jar
WHEEL   := dist/mmapqueue-$(VERSION)-py3-none-any.whl
SDIST   := dist/mmapqueue-$(VERSION).tar.gz
REPOSITORY := build/repository/org/mmapqueue/mmapqueue/$(VERSION)/mmapqueue-$(VERSION).pom
TEST_CP := jvm/build/test.classpath
FUZZ_CP := jvm/build/fuzz.classpath
MUTANTS_CP := jvm/build/mutants.classpath
JMH_CP  := jmh/build/bench.classpath
JCS_CP  := jcstress/build/stress.classpath
KAFKA_CP := python/benchmarks/kafka/build/connector.classpath
HDFS_CP := tests/cluster/build/hdfs.classpath
S3A_CP := tests/s3/build/s3a.classpath
OAP_CP := tests/oap/build/oap.classpath

# What the data source is tested with, one of each minor.
SPARKS      := 3.5.7 4.0.1 4.1.1 4.2.0 4.3.0
# With Kafka beside it, the newest one with a connector on Maven Central: that of python/benchmarks/kafka/build.gradle.
SPARK       ?= $(if $(KAFKA),4.2.0,$(lastword $(SPARKS)))
SPARK_VENV  := build/spark-$(SPARK)
SPARK_READY := $(SPARK_VENV)/.ready

# The oldest libraries that the package allows, which the oldest Python has wheels of.
OLDEST_VENV  := build/oldest
OLDEST_READY := $(OLDEST_VENV)/.ready

DOCS_VENV  := build/docs/venv
DOCS_READY := $(DOCS_VENV)/.ready

S3_VENV  := build/s3
S3_READY := $(S3_VENV)/.ready

RELEASE_VENV  := build/release-venv
RELEASE_READY := $(RELEASE_VENV)/.ready

# What builds the wheel, 3 MB: `make build` needs nothing of what the tests need.
WHEEL_VENV  := build/wheel-venv
WHEEL_READY := $(WHEEL_VENV)/.ready

VENV_READY    := $(VENV)/.requirements
PACKAGE_READY := $(VENV)/.package

# The demo runs in `.venv` where that is set up, else in a virtual environment with what it runs alone.
DEMO_VENV  := $(if $(wildcard $(PACKAGE_READY)),$(VENV),build/demo-venv)
DEMO_READY := $(if $(wildcard $(PACKAGE_READY)),$(PACKAGE_READY),build/demo-venv/.ready)

# Classes that Spark has loaded, which halve the start of each Spark that a test starts.
SPARK_ARCHIVE := build/spark.jsa

# Beside the other requirements, so that the tests without them stay without them.
CONNECT       := $(VENV)/connect
CONNECT_READY := $(CONNECT)/.requirements
FRAMES        := $(VENV)/frames
FRAMES_READY  := $(FRAMES)/.requirements

# What monitoring/ is tested with.
PROMETHEUS := build/prometheus/usr/bin/prometheus
# What the receivers are tested with.
CLIENTS       := build/clients
CLIENTS_READY := $(CLIENTS)/.ready
PEERS         := $(VENV)/peers
PEERS_READY   := $(PEERS)/.requirements

# Directories are prerequisites too: that is how a deleted file is noticed.
BUILD_FILES := build.gradle settings.gradle gradle.properties gradle/libraries.gradle gradle/lint.gradle gradle/publish.gradle
JVM_BUILD   := $(BUILD_FILES) jvm/build.gradle jvm/libraries.lock LICENSE
JVM_MAIN    := $(shell find jvm/src/main jvm/src/spark4 jvm/src/module 2>/dev/null)
JVM_TEST    := $(shell find jvm/src/test 2>/dev/null)
JMH_MAIN    := $(shell find jmh/src 2>/dev/null) jmh/build.gradle jmh/libraries.lock
JCS_MAIN    := $(shell find jcstress/src 2>/dev/null) jcstress/build.gradle jcstress/libraries.lock
PY_BUILD    := gradle.properties $(addprefix python/,pyproject.toml hatch_build.py README.md LICENSE NOTICE licenses)
PY_MAIN     := $(shell find python/src -name __pycache__ -prune -o -path '*/jars*' -prune -o -print 2>/dev/null)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# All that have a text for `make help`.
.PHONY: help $(shell sed -n 's/^\([a-z0-9-]*\):.*\#\# .*/\1/p' Makefile)

# Sections begin with `##@ `, and are printed in the order of the files.
help:
	@awk -F ':.*## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } \
	    /^[a-z0-9-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Start here

build: $(JAR) $(WHEEL) ## Build the jar and the wheel

# What is missing is said before the first download, and each step before it begins.
demo: ## Collect a million events, kill both halves, compare exactly (LOGS=… for your own)
	@command -v bash >/dev/null || { echo "make demo needs bash" >&2; exit 1; }
	@PYTHON="$(PYTHON)" scripts/demo-needs $(call STALE,$(JAR),jar) $(if $(wildcard $(PACKAGE_READY)),,$(call STALE,$(DEMO_READY),packages))
	@$(MAKE) --no-print-directory demo-ready
	@$(DEMO_VENV)/bin/python tests/log_pipeline/demo.py $(DEMO)
demo: DEMO ?=
demo-ready: $(JAR) $(DEMO_READY) ; @:
STALE = $$($(MAKE) --question --no-print-directory $(1) >/dev/null 2>&1 || echo $(2))

# Each waits often, so side by side they take less time. Gradle runs before them: two builds at once would collide.
test: $(TEST_CP) $(PACKAGE_READY) $(JAR) $(SPARK_ARCHIVE) ## Run the tests: JUnit beside pytest
	+MAKE="$(MAKE)" $(PYTHON) scripts/side_by_side.py build/tests test-java test-python

##@ Tests

test-slow: ## Run what `make test` leaves out: processes, kills, streams
	$(MAKE) --no-print-directory test SLOW=1

test-long: ## Run the long forms of tests: more rounds, all JIT compilers
	$(MAKE) --no-print-directory test LONG=1

# The short forms draw the same inputs in each run, and the long forms new ones. The short forms are compiled with C1
# alone: most of their methods do not live long enough for C2 to pay off.
SHORT_FORMS := -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
LONG_FORMS  := -Doverflow.rounds=12 -Dpower.runs=40 -Dtorn.runs=60 -Dfaults.step=1 -Ddamage.tries=400 \
	-Ddamage.rounds=60 -Darchive.rounds=200 -Dcrash.rounds=6 -Djqwik.tries.default=1000 -Dproperty.seed=random

$(SPARK_ARCHIVE): $(VENV_READY) tests/spark_archive.py | $(PACKAGE_READY) $(JAR)
	mkdir -p $(@D)
	PYTHONPATH=tests $(PY) tests/spark_archive.py $@ 2>$(@D)/spark-archive.log || { cat $(@D)/spark-archive.log; exit 1; }

test-java: $(TEST_CP) ## Run the JVM tests (JUNIT="--select-class=…" for some; JAVA=home of a JDK)
	$(LIMITED) $(if $(JAVA),$(JAVA)/bin/)java -ea $(JUNIT_LIMIT) $(if $(LONG),$(LONG_FORMS),$(SHORT_FORMS)) -Djava.util.logging.config.file=jvm/src/test/resources/logging.properties \
	    @$(TEST_CP) org.junit.platform.console.ConsoleLauncher execute $(JUNIT) \
	    $(if $(REPORTS),--details=summary --reports-dir=$(REPORTS),--details=tree) \
	    --disable-banner --fail-if-no-tests $(if $(CI),--disable-ansi-colors)
# For what JUnit cannot interrupt: SIGQUIT prints the stacks of all threads, SIGKILL ends the run.
LIMITED = timeout --foreground --signal=QUIT --kill-after=10s $(LIMIT)
LIMIT  ?= 40m
JUNIT_LIMIT = $(if $(filter-out 40m,$(LIMIT)),-Djunit.jupiter.execution.timeout.mode=disabled)
test-java: JUNIT ?= --scan-class-path=jvm/build/classes/java/test $(if $(LONG),--include-tag=long-form,$(if $(SLOW),--include-tag=slow,--exclude-tag=slow))

test-python: $(PACKAGE_READY) $(JAR) $(if $(filter .venv,$(VENV)),$(SPARK_ARCHIVE)) ## Run the Python tests (PYTEST="tests/…" for some; PYTHON=python3.13, JAVA=…)
	$(if $(JAVA),JAVA_HOME=$(JAVA)) $(if $(LONG),MMAPQUEUE_TESTS=long) $(PY) -m pytest --hypothesis-profile=$(if $(LONG),default,ci) \
	    $(if $(REPORTS),--junitxml=$(REPORTS)/pytest.xml) $(PYTEST)
test-python: PYTEST ?= -n 3 --dist loadscope --no-loadscope-reorder -m $(if $(LONG),"long_form or hypothesis",$(if $(SLOW),slow,"not slow"))

test-spark: $(SPARK_READY) $(JAR) ## Test the data source with another Spark (SPARK=3.5.7, JAVA=home of a JDK)
	$(if $(JAVA),JAVA_HOME=$(JAVA)) $(SPARK_VENV)/bin/python -m pytest $(or $(PYTEST),tests/spark)

test-spark-all: ## Test it with each Spark that is supported
	for version in $(SPARKS); do $(MAKE) --no-print-directory test-spark SPARK=$$version || exit 1; done

test-oldest: $(OLDEST_READY) $(JAR) ## Test with the oldest libraries allowed (PYTHON=python3.10; 400 MB)
	$(OLDEST_VENV)/bin/python -m pytest --hypothesis-profile=ci -W default::DeprecationWarning \
	    $(or $(PYTEST),-n 3 --dist loadscope --no-loadscope-reorder -m "not slow")

test-packages: $(PACKAGE_READY) $(JAR) $(REPOSITORY) ## Test Gradle, Maven, spark-submit with the repository of `make publish`
	$(PY) -m pytest tests/test_published.py tests/spark/test_packages.py

test-connect: $(PACKAGE_READY) $(JAR) $(CONNECT_READY) ## Test over Spark Connect (80 MB to download)
	PYTHONPATH=$(CONNECT) $(PY) -m pytest tests/spark/test_connect.py

test-frames: $(PACKAGE_READY) $(JAR) $(FRAMES_READY) ## Test what needs pandas, polars or DuckDB (400 MB to install)
	PYTHONPATH=$(FRAMES) $(PY) -m pytest tests/queues/test_arrow_frames.py tests/spark/test_real_time_state.py

test-s3: $(PACKAGE_READY) $(JAR) $(TEST_CP) $(S3A_CP) $(S3_READY) ## Test archives on S3, served on loopback (730 MB to download)
	PYTHONPATH=tests/archive MMAPQUEUE_S3=1 $(if $(LONG),MMAPQUEUE_TESTS=long) $(PY) -m pytest $(or $(PYTEST),-s tests/s3)

test-monitoring: $(PACKAGE_READY) $(JAR) $(PROMETHEUS) ## Test the queries of monitoring/ with a real Prometheus (18 MB to download)
	PROMETHEUS=$(dir $(PROMETHEUS)) $(PY) -m pytest tests/monitoring

test-clients: $(PACKAGE_READY) $(PROMETHEUS) $(CLIENTS_READY) ## Test receivers with clients of Go and npm, and with Prometheus (needs go, npm)
	PROMETHEUS=$(dir $(PROMETHEUS)) MMAPQUEUE_CLIENTS=$(CLIENTS) $(PY) -m pytest $(or $(PYTEST),tests/clients)

test-oap: $(PACKAGE_READY) $(JAR) $(OAP_CP) ## Test Satellite's configuration with a real SkyWalking OAP (61 MB to download)
	MMAPQUEUE_OAP=$(abspath $(OAP_CP)) $(PY) -m pytest $(or $(PYTEST),tests/oap)

$(CLIENTS_READY): $(wildcard tests/clients/go/* tests/clients/npm/*)
	mkdir -p $(CLIENTS)/npm
	cd tests/clients/go && go build -o $(abspath $(CLIENTS))/go .
	cp tests/clients/npm/* $(CLIENTS)/npm
	cd $(CLIENTS)/npm && npm ci --omit=optional --ignore-scripts --no-audit --no-fund
	@touch $@

# The package of Debian or Ubuntu, unpacked and not installed.
$(PROMETHEUS):
	rm -rf build/prometheus
	mkdir -p build/prometheus
	cd build/prometheus && apt-get download prometheus && dpkg -x prometheus_*.deb .
	@touch $@

# Everything that it starts ends with it: net, mount and process namespaces of its own.
APART = @[ "$$(id -u)" = 0 ] || { echo "make $@ needs root: it makes hosts of namespaces" >&2; exit 1; }
UNSHARE = unshare --net --mount --pid --fork --kill-child --mount-proc --propagation private

test-cluster: $(PACKAGE_READY) $(JAR) $(HDFS_CP) ## Test many hosts with HDFS and Spark, as root (56 MB; N=100 faults, SEED=…)
	$(APART)
	MMAPQUEUE_CLUSTER=$(N) SEED=$(SEED) $(UNSHARE) $(PY) -m pytest $(or $(PYTEST),-s tests/cluster)
test-cluster: N ?= 12

# These make a Debian of its own each, below build/roots, with debootstrap and as root. SUITE=trixie is another Debian;
# what the machine's registries need is copied (ROOT_FILES) or set (ROOT_ENV) there: scripts/clean-root.
CLEAN_ROOT := scripts/clean-root

test-install: $(WHEEL) $(SDIST) ## Install wheel and source distribution in clean Debians (SUITE=trixie)
	$(CLEAN_ROOT) --copy $(WHEEL) --copy tests/install python3-venv default-jre-headless -- sh tests/install/wheel.sh
	$(CLEAN_ROOT) --copy $(SDIST) --copy tests/install python3-venv default-jre-headless -- sh tests/install/sdist.sh

test-bare: ## Run the README literally in a clean Debian, then BARE="make test" (AS=root)
	$(CLEAN_ROOT) --clone -- sh tests/install/readme.sh $(AS) '$(BARE)'
test-bare: BARE ?= make test
test-bare: AS ?= user

##@ Endurance: kills, power losses, damage, races

crash: $(TEST_CP) ## Kill processes at work N=1000 times, check what they leave (SEED=…)
	java -Djava.util.logging.config.file=jvm/src/test/resources/logging.properties \
	    @$(TEST_CP) org.mmapqueue.crash.CrashMain $(N) "$(SEED)" $(FIRST) $(DIR)
crash: N ?= 1000
crash: FIRST ?= 0
crash: DIR ?= $(if $(wildcard /dev/shm),/dev/shm,/tmp)

powerloss: $(TEST_CP) ## Cut the power of N=1000 simulated queues, check what is left (SEED=1)
	java -ea -Xmx512m @$(TEST_CP) org.mmapqueue.powerloss.PowerLoss $(N) $(SEED)
powerloss: N ?= 1000
powerloss: SEED ?= 1

faults: $(TEST_CP) ## Have each call to the disk fail once, in each of the ways that it can
	java -ea -Dfaults.step=1 -Djunit.jupiter.execution.timeout.mode=disabled -Djava.util.logging.config.file=jvm/src/test/resources/logging.properties \
	    @$(TEST_CP) org.junit.platform.console.ConsoleLauncher execute --select-class=org.mmapqueue.core.EachCallFailsTest \
	    --details=tree --disable-banner --fail-if-no-tests $(if $(CI),--disable-ansi-colors)

fulldisk: $(TEST_CP) ## Fill a small disk, continue when it has room again (needs root for a tmpfs)
	scripts/fulldisk java -ea @$(TEST_CP) org.mmapqueue.soak.FullDisk

damage: $(TEST_CP) ## Damage queues in every way, check what is read (SEED=1; KIND="file" for some)
	java -ea -Xmx48m -Djava.util.logging.config.file=jvm/src/test/resources/logging.properties \
	    @$(TEST_CP) org.mmapqueue.damage.DamageSweep full $(SEED) $(if $(KIND),"$(KIND)")
damage: SEED ?= 1

verify-random: $(TEST_CP) ## Verify and repair N=1000 random queues, healthy and damaged (SEED=1)
	java -ea -Xmx128m @$(TEST_CP) org.mmapqueue.tool.VerifyRandom $(N) $(SEED)
verify-random: N ?= 1000
verify-random: SEED ?= 1

# Inputs that reach new code are kept; a finding is written beside them, and DamageFuzz runs its file again.
fuzz: $(FUZZ_CP) ## Let Jazzer damage files for MINUTES=10, with forged checksums (SEED=1)
	@mkdir -p build/fuzz/corpus
	java -ea -Xmx256m -Djava.util.logging.config.file=jvm/src/test/resources/logging.properties \
	    @$(FUZZ_CP) com.code_intelligence.jazzer.Jazzer --target_class=org.mmapqueue.damage.DamageFuzz \
	    '--instrumentation_includes=org.mmapqueue.**' -max_len=98 -timeout=60 -seed=$(SEED) \
	    -max_total_time=$$(($(MINUTES) * 60)) -artifact_prefix=build/fuzz/ build/fuzz/corpus
fuzz: MINUTES ?= 10
fuzz: SEED ?= 1

soak: $(TEST_CP) ## Count every message of 4 producers and 4 consumers (N=10000000 of 1 KiB)
	java -Xmx64m @$(TEST_CP) org.mmapqueue.soak.ManyThreads $(N)
soak: N ?= 10000000

soak-long: $(TEST_CP) ## Stop and continue processes for MINUTES=30, count every record (SEED=…)
	java -Xmx64m -Djava.util.logging.config.file=jvm/src/test/resources/logging.properties \
	    @$(TEST_CP) org.mmapqueue.soak.LongSoak $(MINUTES) "$(SEED)" $(DIR)
soak-long: MINUTES ?= 30
soak-long: DIR ?= $(or $(TMPDIR),/tmp)

consumer-race: $(TEST_CP) ## Race processes over consumers and space (N=10 rounds; SEED=…)
	java -Xmx256m -Djava.util.logging.config.file=jvm/src/test/resources/logging.properties \
	    @$(TEST_CP) org.mmapqueue.soak.ConsumerRace $(N) $(SEED)
consumer-race: N ?= 10

test-stopped: $(PACKAGE_READY) $(JAR) ## Run the Python tests N=30 times, processes stopped at random (SEED=1)
	for run in $$(seq $(N)); do \
	    $(PY) scripts/stop_at_random.py --seed $$(($(SEED) + $$run)) $(MAKE) --no-print-directory test-python || exit 1; \
	done
test-stopped: N ?= 30
test-stopped: SEED ?= 1

jcstress: $(JCS_CP) ## Race two threads with each pair of compilers, MILLIS=200 each (TESTS=regex)
	$(JCS_RUN) -m default -iters 1 -time $(MILLIS) -t "$(TESTS)"
jcstress: MILLIS ?= 200

jcstress-short: $(JCS_CP) ## Try each of these races for a moment
	$(JCS_RUN) -m quick -sc false -iters 1 -time 100 -jvmArgs "$(JCS_FORK)" -t "$(TESTS)"

jcstress jcstress-short: TESTS ?= org.mmapqueue
jcstress jcstress-short: JAVA ?= java
jcstress jcstress-short: DIR ?= $(if $(wildcard /dev/shm),/dev/shm,/tmp)
# The directory holds what the forked JVMs map; they may be killed, so it is removed from here.
JCS_FORK = -Dstress.dir=$$dir
JCS_RUN  = dir=$$(mktemp -d "$(DIR)/mmapqueue-jcstress-XXXXXX") && trap 'rm -rf "$$dir"' EXIT && \
	cd $(dir $(JCS_CP)) && "$(JAVA)" @stress.classpath org.openjdk.jcstress.Main -r results -jvmArgsPrepend "$(JCS_FORK)"

spark-kill: $(PACKAGE_READY) $(JAR) ## Kill a stream N=100 times, compare what it has written (MASTER=…; SEED=…)
	$(PY) tests/spark/kill_loop.py $(N) --master "$(MASTER)" $(if $(SEED),--seed $(SEED))
spark-kill: N ?= 100
spark-kill: MASTER ?= local[2,4]

process-kill: $(PACKAGE_READY) $(JAR) ## Kill a query of process_stream N=30 times, compare outcomes (SEED=…)
	$(PY) tests/spark/process_kills.py $(N) $(if $(SEED),--seed $(SEED))
process-kill: N ?= 30

real-time-kill: $(SPARK_READY) $(JAR) ## Kill queries in real-time mode N=30 times, compare (MASTER, SEED=…)
	PYTHONPATH=tests $(SPARK_VENV)/bin/python -m spark.real_time_kills $(N) $(if $(MASTER),--master "$(MASTER)") $(if $(SEED),--seed $(SEED))
real-time-kill: N ?= 30

pipeline-kill: $(PACKAGE_READY) $(JAR) ## Kill, reload, drain, restart N=50 times under load (PROCESSES=…; SEED=…)
	$(PY) tests/pipeline/kill_loop.py $(N) $(if $(PROCESSES),--processes $(PROCESSES)) $(if $(SEED),--seed $(SEED)) $(if $(DIR),--directory "$(DIR)")
pipeline-kill: N ?= 50

slow-clients: $(PACKAGE_READY) $(JAR) ## Measure the memory of gather under N=10000 clients that send slowly
	cd tests && ../$(PY) -m pipeline.slow_clients --clients $(N)
slow-clients: N ?= 10000

client-kill: $(PACKAGE_READY) $(JAR) ## Kill the collector N=50 times under clients with keys (PROCESSES=…; SEED=…)
	$(PY) tests/pipeline/keyed_kill_loop.py $(N) $(if $(PROCESSES),--processes $(PROCESSES)) $(if $(SEED),--seed $(SEED))
client-kill: N ?= 50

backlog-kill: $(PACKAGE_READY) $(JAR) ## Kill a sender of a backlog of N=1000000 records, count repetitions
	$(PY) tests/pipeline/backlog_kills.py $(N)
backlog-kill: N ?= 1000000

pipeline-changes: $(PACKAGE_READY) $(JAR) ## Reload and stop gather N=100 times under load; no request may break
	RELOADS=$(N) STOPS=$(N) $(PY) -m pytest tests/pipeline/test_reload.py tests/pipeline/test_drain.py -k under_load
pipeline-changes: N ?= 100

# One minion JVM at a time; compiled by C1 alone, as each lives for some seconds.
mutants: $(MUTANTS_CP) ## Run TESTS=…Test against mutants of CLASSES=org.mmapqueue.flush.*
	java -XX:TieredStopAtLevel=1 @$(MUTANTS_CP) org.pitest.mutationtest.commandline.MutationCoverageReport \
	    --targetClasses "$(CLASSES)" --targetTests "$(TESTS)" --mutableCodePaths $(CURDIR)/jvm/build/classes/java/main \
	    --sourceDirs jvm/src/main/java --mutators DEFAULTS --threads 1 --timeoutConst 6000 --outputFormats CSV,XML \
	    --timestampedReports=false --verbosity NO_SPINNER --reportDir build/mutants \
	    --jvmArgs "-ea,-Xmx256m,-XX:TieredStopAtLevel=1,-XX:+UseSerialGC,-Djava.util.logging.config.file=jvm/src/test/resources/logging.properties"
	@awk -F , '{ n[$$6]++ } $$6 == "SURVIVED" || $$6 == "NO_COVERAGE" { sub(/.*\./, "", $$3); print $$2 ":" $$5, $$4, $$3, $$6 } \
	    END { for (s in n) print n[s], s }' build/mutants/mutations.csv
mutants: CLASSES ?= org.mmapqueue.segment.*
mutants: TESTS ?= org.mmapqueue.segment.*Test

##@ Benchmarks

bench: $(JMH_CP) ## Run the JVM benchmarks in five minutes (BENCH="--only REGEX"; BIGQUEUE=jar)
	$(call NOTED,jmh) $(BENCH_RUN).BenchMain --short $(BENCH)

bench-full: $(JMH_CP) ## Run them all, five rounds, then the latencies; hours
	$(call NOTED,jmh) $(BENCH_RUN).BenchMain --full $(BENCH)
	$(call NOTED,latency) $(BENCH_RUN).latency.LatencyMain

bench-latency: $(JMH_CP) ## Measure pushes at a steady rate (BENCH="--rounds 1 --seconds 3" for less)
	$(call NOTED,latency) $(BENCH_RUN).latency.LatencyMain $(BENCH)

bench bench-full bench-latency: BENCH ?=
BENCH_RUN = java $(if $(BIGQUEUE),-Dbigqueue.jar=$(BIGQUEUE)) @$(JMH_CP) org.mmapqueue.bench

bench-python: $(PACKAGE_READY) $(JAR) $(PEERS_READY) ## Measure the Python package beside its peers
	$(call NOTED,python,:$(PEERS)) $(PY) -m queue_bench $(BENCH)
bench-python: BENCH ?=

bench-spark: $(if $(KAFKA),$(SPARK_READY) $(KAFKA_CP),$(PACKAGE_READY)) $(JAR) ## Measure the data source beside Spark's own; KAFKA=1 beside Kafka
	$(call NOTED,spark) $(if $(KAFKA),$(SPARK_VENV)/bin/python,$(PY)) python/benchmarks/bench_spark.py \
	    $(if $(KAFKA),--kafka $(dir $(KAFKA_CP))) $(BENCH)
bench-spark: BENCH ?=

bench-real-time: $(if $(KAFKA),$(SPARK_READY) $(KAFKA_CP),$(PACKAGE_READY)) $(JAR) ## Measure latency in Spark's real-time mode; KAFKA=1 as above
	$(call NOTED,real-time) $(if $(KAFKA),$(SPARK_VENV)/bin/python,$(PY)) python/benchmarks/real_time_latency.py \
	    $(if $(KAFKA),--kafka $(dir $(KAFKA_CP))) $(BENCH)
bench-real-time: BENCH ?=

# Go builds the peers below build/peers: the first run takes five minutes more. Without Go there is no load generator.
bench-pipeline: $(PACKAGE_READY) $(JAR) ## Measure gather beside bare servers and the OpenTelemetry collector
	$(call NOTED,pipeline) $(PY) -m pipeline_bench $(BENCH)
bench-pipeline: BENCH ?=

bench-hosts: $(PACKAGE_READY) $(JAR) $(HDFS_CP) ## Measure the archive beside Spark jobs on three test hosts, as root
	$(APART)
	PYTHONPATH=tests:python/benchmarks $(UNSHARE) $(PY) -m hosts_bench $(BENCH)
bench-hosts: BENCH ?=

bench-overflow: $(PACKAGE_READY) $(JAR) $(HDFS_CP) ## Measure an overflow into HDFS on test hosts, as root (GIB=2)
	$(APART)
	PYTHONPATH=tests:python/benchmarks $(UNSHARE) $(PY) -m cluster.overflow $(GIB)
bench-overflow bench-overflow-files: GIB ?= 2

bench-overflow-files: $(PACKAGE_READY) $(JAR) ## Measure an overflow into files, in a new directory (GIB=2 DIR=…)
	PYTHONPATH=tests:python/benchmarks $(PY) -m cluster.overflow $(GIB) $(DIR)
bench-overflow-files: DIR ?= build/overflow

bench-archive: $(PACKAGE_READY) $(JAR) ## Measure the driver of streams: 10⁶ runs, and 1 000 partitions
	PYTHONPATH=tests:python/benchmarks $(PY) python/benchmarks/archive_streams.py $(BENCH)
bench-archive: BENCH ?=

bench-events: $(PACKAGE_READY) $(JAR) ## Measure events decoded in Spark (PROTOBUF=jars DESCRIPTOR=file)
	$(PY) python/benchmarks/bench_events.py \
	    $(if $(PROTOBUF),--protobuf $(PROTOBUF) --descriptor $(DESCRIPTOR)) $(BENCH)
bench-events: BENCH ?=

bench-scale: $(JMH_CP) ## Measure a queue of SIZE=20g: memory, cost, recovery (SEGMENT=64m ROUNDS=5)
	$(call NOTED,scale) $(BENCH_RUN).scale.ScaleMain --size $(SIZE) --segment $(SEGMENT) --rounds $(ROUNDS)
bench-scale: SIZE ?= 20g
bench-scale: SEGMENT ?= 64m
bench-scale: ROUNDS ?= 5

bench-guard: $(JMH_CP) ## Compare BASE=commit with HEAD=commit; fails above 10 % (PAIRS=10 MILLIS=2000)
	scripts/bench-guard "$(BASE)" "$(HEAD)" $(PAIRS) $(MILLIS)
bench-guard: HEAD ?= HEAD
bench-guard: PAIRS ?= 10
bench-guard: MILLIS ?= 2000

wakeups: $(TEST_CP) ## Measure how soon waiting consumers wake, and the cost (N=2000 wakes each)
	java -Xmx64m @$(TEST_CP) org.mmapqueue.soak.WakeUps $(N)
wakeups: N ?= 2000

fanout: $(TEST_CP) ## Measure 4 consumers of the same records against one (N=15 rounds)
	java -Xmx256m @$(TEST_CP) org.mmapqueue.soak.FanOut $(N)
fanout: N ?= 15

gets: $(TEST_CP) ## Measure random reads in a queue of SIZE=2g of 1 KiB records (SEGMENT=64m)
	java -Xmx64m @$(TEST_CP) org.mmapqueue.soak.RandomGets $(SIZE) $(SEGMENT)
gets: SIZE ?= 2g
gets: SEGMENT ?= 64m

archive: $(TEST_CP) ## Measure an archive on file: planning, reading, compaction (DIR=…)
	java -Xmx256m -Djava.util.logging.config.file=jvm/src/test/resources/logging.properties \
	    @$(TEST_CP) org.mmapqueue.soak.ArchiveFigures $(DIR)

# Notes the machine, its load and the date beside the results, and prints the tables. It needs no virtual environment.
NOTED = PYTHONPATH=python/benchmarks$(2) $(PYTHON) -m bench_report.run $(1) "make $@" build/bench

bench-report: $(VENV_READY) ## Make tables and plots of the kept results (RUN=build/bench: keep those first)
	PYTHONPATH=python/benchmarks $(PY) -m bench_report $(if $(RUN),--publish $(RUN))

##@ Documentation

# Where the public classes are, and what their documentation may name.
JAVADOC_PACKAGES = $(shell sed -n 's/^ *exports \(.*\);/\1/p' jvm/src/module/java/module-info.java)

docs: $(DOCS_READY) $(WHEEL) $(JAR) $(TEST_CP) ## Build the site with the reference of Python and Java: build/docs/html
	$(DOCS_VENV)/bin/python -m pip install --quiet --no-deps --force-reinstall $(WHEEL)
	rm -rf build/docs/extra
	javadoc -quiet -Werror -Xdoclint:all,-missing -notimestamp -encoding UTF-8 -windowtitle mmapqueue \
	    @$(TEST_CP) -sourcepath jvm/src/main/java -d build/docs/extra/javadoc $(JAVADOC_PACKAGES)
	$(DOCS_VENV)/bin/python -m sphinx -W --keep-going -q -b html -d build/docs/doctrees docs build/docs/html
	@echo "build/docs/html/index.html"

dashboard: $(PACKAGE_READY) $(JAR) $(PROMETHEUS) ## Draw the dashboard's panels under load, two minutes
	PYTHONPATH=tests:python/benchmarks PROMETHEUS=$(dir $(PROMETHEUS)) $(PY) -m monitoring.plot docs/images/dashboard.svg

session: $(PACKAGE_READY) $(JAR) ## Record the pictures of the command line: docs/images/session.svg and top.svg
	$(PY) scripts/record_session.py docs/images

spark-ui: $(PACKAGE_READY) $(JAR) ## Take the pictures of Spark's web UI with Chromium: docs/images/spark-*.png
	$(PY) scripts/record_spark_ui.py docs/images

collector-pictures: $(PACKAGE_READY) $(JAR) ## Take pictures of a collector with faults: docs/images/collector-*
	$(PY) scripts/record_collector.py docs/images

packages: $(VENV_READY) $(JAR) ## Draw which package of the jar uses which (TO=docs/images/packages.svg)
	PYTHONPATH=python/benchmarks $(PY) scripts/packages.py $(JAR) $(TO)
packages: TO ?= docs/images/packages.svg

##@ Release

check-dist: $(WHEEL) $(SDIST) $(RELEASE_READY) $(PACKAGE_READY) ## Build wheel and source distribution, check their content and PyPI's page
	$(RELEASE_VENV)/bin/python -m twine check --strict $(WHEEL) $(SDIST)
	$(PY) -m pytest --quiet tests/test_dist.py

check-tag: ## Compare TAG=v1.0.0 with version, changelog and pages
	@[ "$(TAG)" = "v$(VERSION)" ] || { echo "The tag is $(TAG), the version of gradle.properties $(VERSION)" >&2; exit 1; }
	@grep -qF "## [$(VERSION)]" CHANGELOG.md || { echo "CHANGELOG.md has no section [$(VERSION)]" >&2; exit 1; }
	@! grep -n '<!-- until the release' README.md docs/installation.md >&2 || \
	    { echo "These are true until the release alone: put what they say in their place" >&2; exit 1; }

release-check: ## Build the published files of COMMIT=HEAD twice; fails if a byte differs
	$(PYTHON) scripts/reproduce.py $(COMMIT)
release-check: COMMIT ?= HEAD

publish: $(REPOSITORY) ## Put jar, POM, sources and Javadoc into the Maven repository build/repository

keep-format: $(TEST_CP) ## Keep directories of this version for the tests of later ones
	java @$(TEST_CP) org.mmapqueue.kept.KeptMaker jvm/src/test/resources/format-2/$(VERSION)

##@ Upkeep

setup: $(PACKAGE_READY) ## Install what is missing: Gradle, .venv with the locked requirements

# Made with the oldest protobuf that the package supports: newer ones read it, too.
proto: ## Generate the Python code of the .proto files
	$(PYTHON) -m venv build/proto && build/proto/bin/python -m pip install --quiet grpcio-tools==1.74.0
	cd python/src && ../../build/proto/bin/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. \
	    mmapqueue/pipeline/event.proto mmapqueue/pipeline/gather/receivers/remote_write.proto

lock: ## Lock the libraries and requirements anew (needs uv)
	$(GRADLE) lockLibraries
	for name in build dev demo connect frames peers docs release s3; do \
	    uv pip compile --universal --python-version 3.10 --generate-hashes --no-emit-index-url --no-header \
	        --quiet --upgrade --output-file requirements/$$name.lock requirements/$$name.in || exit 1; \
	done
	uv pip compile --universal --python-version 3.10 --generate-hashes --no-emit-index-url --no-header --quiet --upgrade \
	    --resolution lowest-direct --output-file requirements/oldest.lock python/pyproject.toml --extra all requirements/oldest.in

demo-clean: ## Remove what the demo has left
	rm -rf build/demo build/demo-venv

clean: ## Remove what was built
	rm -rf build dist jvm/build jmh/build jcstress/build lint/build python/benchmarks/kafka/build tests/cluster/build tests/oap/build tests/s3/build python/src/mmapqueue/jars $(PACKAGE_READY)
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find python examples tests -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean ## Remove what was set up, too
	rm -rf $(VENV) .gradle

include lint/lint.mk

# Gradle leaves files alone that come out the same, hence the touch.
$(JAR): $(JVM_BUILD) $(JVM_MAIN)
	@echo "Building the jar: the first time Gradle downloads 140 MB of libraries from Maven Central to compile against" >&2
	$(GRADLE) :mmapqueue:bundle
	@touch $@

$(REPOSITORY): $(JVM_BUILD) $(JVM_MAIN) | $(JAR)
	$(GRADLE) -Dmaven.repo.local=$(CURDIR)/build/repository :mmapqueue:publishToMavenLocal
	@touch $@

# After the jar, as it compiles the same classes.
$(TEST_CP): $(JVM_BUILD) $(JVM_MAIN) $(JVM_TEST) | $(JAR)
	$(GRADLE) :mmapqueue:testClasspath
	@touch $@

$(FUZZ_CP): $(TEST_CP)
	$(GRADLE) :mmapqueue:fuzzClasspath
	@touch $@

$(MUTANTS_CP): $(TEST_CP)
	$(GRADLE) :mmapqueue:mutantsClasspath
	@touch $@

$(JMH_CP): $(JVM_BUILD) $(JVM_MAIN) $(JMH_MAIN) | $(JAR)
	$(GRADLE) :mmapqueue-jmh:benchClasspath
	@touch $@

$(JCS_CP): $(JVM_BUILD) $(JVM_MAIN) $(JCS_MAIN) | $(JAR)
	$(GRADLE) :mmapqueue-jcstress:stressClasspath
	@touch $@

$(KAFKA_CP): $(BUILD_FILES) $(addprefix python/benchmarks/kafka/,build.gradle libraries.lock)
	$(GRADLE) :mmapqueue-kafka:kafkaClasspaths
	@touch $@

$(HDFS_CP): $(BUILD_FILES) $(addprefix tests/cluster/,build.gradle libraries.lock)
	$(GRADLE) :mmapqueue-cluster:hdfsClasspath
	@touch $@

$(S3A_CP): $(BUILD_FILES) $(addprefix tests/s3/,build.gradle libraries.lock)
	$(GRADLE) :mmapqueue-s3:s3aClasspath
	@touch $@

$(OAP_CP): $(BUILD_FILES) $(addprefix tests/oap/,build.gradle libraries.lock)
	$(GRADLE) :mmapqueue-oap:oapClasspath
	@touch $@

# What a rule installs, from where and why: printed before it does.
COMMA := ,
INSTALLING = @echo "Installing into $(1): $(2)" >&2

PYTHON_FITS = @$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed, $(PYTHON) is " + sys.version)'

$(WHEEL_READY): requirements/build.lock
	$(PYTHON_FITS)
	rm -rf $(WHEEL_VENV)
	$(call INSTALLING,$(WHEEL_VENV),hatchling of requirements/build.lock that builds the wheel (3 MB))
	$(PYTHON) -m venv $(WHEEL_VENV)
	$(WHEEL_VENV)/bin/python -m pip install --quiet --require-hashes -r requirements/build.lock
	@touch $@

# In two steps, as the first holds what the second is built with.
$(VENV_READY): requirements/build.lock requirements/dev.lock
	$(PYTHON_FITS)
	$(call INSTALLING,$(VENV),the Python packages of requirements/build.lock and dev.lock that tests and lint need (1.1 GB))
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --require-hashes -r requirements/build.lock
	$(PY) -m $(PIP_INSTALL) --no-build-isolation -r requirements/dev.lock
	@touch $@

# In two steps, too; editable, as in $(PACKAGE_READY). pip unpacks and builds PySpark where disk space was looked for.
build/demo-venv/.ready: requirements/build.lock requirements/demo.lock $(PY_BUILD) | $(JAR)
	$(PYTHON_FITS)
	rm -rf build/demo-venv
	$(call INSTALLING,build/demo-venv,the Python packages of requirements/demo.lock that the demo runs (580 MB to download$(COMMA) 460 MB of it PySpark))
	$(PYTHON) -m venv build/demo-venv
	build/demo-venv/bin/python -m pip install --quiet --require-hashes -r requirements/build.lock
	mkdir build/demo-venv/tmp
	TMPDIR=$(CURDIR)/build/demo-venv/tmp build/demo-venv/bin/python -m $(PIP_INSTALL) --no-build-isolation -r requirements/demo.lock
	rm -rf build/demo-venv/tmp
	build/demo-venv/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable python
	@touch $@

$(CONNECT_READY): requirements/connect.lock $(VENV_READY)
	rm -rf $(CONNECT)
	$(call INSTALLING,$(CONNECT),the client of Spark Connect)
	$(PY) -m pip install --quiet --require-hashes --no-deps --target $(CONNECT) -r requirements/connect.lock
	@touch $@

$(FRAMES_READY): requirements/frames.lock $(VENV_READY)
	rm -rf $(FRAMES)
	$(call INSTALLING,$(FRAMES),pandas and polars and DuckDB)
	$(PY) -m pip install --quiet --require-hashes --no-deps --target $(FRAMES) -r requirements/frames.lock
	@touch $@

$(PEERS_READY): requirements/peers.lock $(VENV_READY)
	rm -rf $(PEERS)
	$(call INSTALLING,$(PEERS),the queues that are compared with)
	$(PY) -m pip install --quiet --require-hashes --no-deps --target $(PEERS) -r requirements/peers.lock
	@touch $@

# Editable: a change in python/src counts at once.
$(PACKAGE_READY): $(VENV_READY) $(PY_BUILD) | $(JAR)
	$(PY) -m pip install --quiet --no-deps --no-build-isolation --editable python
	@touch $@

# One Spark and pytest, by version and not by hash: the locks hold the newest Spark alone.
$(SPARK_READY): requirements/build.lock requirements/dev.lock $(PY_BUILD) | $(JAR)
	$(call INSTALLING,$(SPARK_VENV),PySpark $(SPARK) and pytest)
	$(PYTHON) -m venv $(SPARK_VENV)
	$(SPARK_VENV)/bin/python -m pip install --quiet --require-hashes -r requirements/build.lock
	$(SPARK_VENV)/bin/python -m pip install --quiet --no-build-isolation pyspark==$(SPARK) \
	    $$(sed -n 's/^\(pytest\(-timeout\)\?==[^ ]*\).*/\1/p' requirements/dev.lock)
	$(SPARK_VENV)/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable python
	@touch $@

$(OLDEST_READY): requirements/build.lock requirements/oldest.lock $(PY_BUILD) | $(JAR)
	rm -rf $(OLDEST_VENV)
	$(call INSTALLING,$(OLDEST_VENV),the Python packages of requirements/oldest.lock)
	$(PYTHON) -m venv $(OLDEST_VENV)
	$(OLDEST_VENV)/bin/python -m pip install --quiet --require-hashes -r requirements/build.lock
	$(OLDEST_VENV)/bin/python -m pip install --quiet --no-build-isolation --require-hashes -r requirements/oldest.lock
	$(OLDEST_VENV)/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable python
	@touch $@

$(DOCS_READY): requirements/docs.lock
	rm -rf $(DOCS_VENV)
	$(call INSTALLING,$(DOCS_VENV),the Python packages of requirements/docs.lock)
	$(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/python -m pip install --quiet --require-hashes -r requirements/docs.lock
	@touch $@

$(RELEASE_READY): requirements/release.lock
	rm -rf $(RELEASE_VENV)
	$(call INSTALLING,$(RELEASE_VENV),twine for a check of what PyPI will show)
	$(PYTHON) -m venv $(RELEASE_VENV)
	$(RELEASE_VENV)/bin/python -m pip install --quiet --require-hashes -r requirements/release.lock
	@touch $@

$(S3_READY): requirements/s3.lock
	rm -rf $(S3_VENV)
	$(call INSTALLING,$(S3_VENV),moto for the tests of archives on S3)
	$(PYTHON) -m venv $(S3_VENV)
	$(S3_VENV)/bin/python -m pip install --quiet --require-hashes --no-deps -r requirements/s3.lock
	@touch $@

$(WHEEL): $(JAR) $(WHEEL_READY) $(PY_BUILD) $(PY_MAIN)
	rm -f dist/mmapqueue-*.whl
	cd python && ../$(WHEEL_VENV)/bin/python -m hatchling build --target wheel --directory ../dist

$(SDIST): $(JVM_BUILD) $(JVM_MAIN) $(WHEEL_READY) $(PY_BUILD) $(PY_MAIN) scripts/gradle
	rm -f dist/mmapqueue-*.tar.gz
	cd python && ../$(WHEEL_VENV)/bin/python -m hatchling build --target sdist --directory ../dist
