"""The commands: parse, call one public function, show."""
