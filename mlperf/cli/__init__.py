"""The ``mlperf`` command line: parse, call one public function, show its result."""
