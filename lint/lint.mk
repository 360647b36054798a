# The checks of `make lint`. Each leaves a stamp in build/lint, and runs again only if a file that it reads is newer.

LINT      := build/lint
LINT_CP   := lint/build/lint/errorprone.classpath
LINT_JAVA := $(wildcard jvm/src jmh/src jcstress/src)
JAVA_FILES := $(shell find $(LINT_JAVA) -name '*.java')
LINTS     := lint-format lint-ruff lint-mypy lint-links lint-errors

.PHONY: lint format lint-workflows $(LINTS)

##@ Sources

lint: $(VENV_READY) $(LINT_CP) ## Check formats, links and types, Error Prone, ruff (builds no jar)
	@$(MAKE) --no-print-directory --keep-going --output-sync=target $(if $(findstring jobserver,$(MAKEFLAGS)),,-j2) $(LINTS)

format: $(VENV_READY) $(LINT_CP) ## Format the Java and Python sources
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	lint/format-java --replace $$(find $(LINT_JAVA) -name '*.java' $(addprefix -newer ,$(wildcard $(LINT)/format.stamp)))

lint-ruff: $(VENV_READY)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

lint-mypy: $(VENV_READY)
	$(PY) -m mypy

lint-links: $(VENV_READY)
	$(PY) lint/check_links.py

# Not part of `lint`: it needs Go, which builds actionlint.
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.7

lint-workflows: ## Check the workflows of .github with actionlint (needs Go)
	go run $(ACTIONLINT)

lint-format: $(LINT)/format.stamp

# The files that have changed since; all of them if the formatter has.
$(LINT)/format.stamp: $(JAVA_FILES) $(LINT_CP) lint/format-java
	@mkdir -p $(@D)
	@lint/format-java --check $(if $(filter-out %.java,$?),$(JAVA_FILES),$?)
	@touch $@

lint-errors: $(addprefix $(LINT)/,main.stamp spark4.stamp test.stamp jmh.stamp jcstress.stamp)

# lint/error-prone NAME SOURCES LIBRARIES [NAME of what it is compiled against]...
ERROR_PRONE = @lint/error-prone $(basename $(@F)) $(1) $(2) $(3) && touch $@
LINT_TOOLS := $(LINT_CP) lint/error-prone lint/error-prone.checks
java_in     = $(filter $(1)/%,$(JAVA_FILES))

$(LINT)/main.stamp: $(call java_in,jvm/src/main) $(LINT_TOOLS)
	$(call ERROR_PRONE,jvm/src/main,jvm/build/lint/main.classpath)

$(LINT)/spark4.stamp: $(call java_in,jvm/src/spark4) $(LINT)/main.stamp
	$(call ERROR_PRONE,jvm/src/spark4,jvm/build/lint/spark4.classpath,main)

$(LINT)/test.stamp: $(call java_in,jvm/src/test) $(LINT)/main.stamp
	$(call ERROR_PRONE,jvm/src/test,jvm/build/lint/test.classpath,main)

$(LINT)/jmh.stamp: $(call java_in,jmh/src) $(LINT)/main.stamp
	$(call ERROR_PRONE,jmh/src,jmh/build/lint/main.classpath,main)

$(LINT)/jcstress.stamp: $(call java_in,jcstress/src) $(LINT)/main.stamp
	$(call ERROR_PRONE,jcstress/src,jcstress/build/lint/main.classpath,main)

# Gradle leaves files alone that come out the same, hence the touch.
$(LINT_CP): $(BUILD_FILES) $(foreach d,jvm jmh jcstress lint,$(d)/build.gradle $(d)/libraries.lock)
	$(GRADLE) $(foreach p,mmapqueue mmapqueue-jmh mmapqueue-jcstress mmapqueue-lint,:$(p):lintClasspaths)
	@touch $@
