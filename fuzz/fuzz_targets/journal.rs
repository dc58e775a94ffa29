#![cfg_attr(feature = "libfuzzer", no_main)]

hindmost_fuzz::target!(hindmost_fuzz::journal::any_journal);
