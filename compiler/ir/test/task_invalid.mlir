// What the verifiers of the task dialect refuse.
// RUN: firn-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{target is 'gpu', expected one of: cpu, npu, reference}}
task.program "gpu" lanes 1 model {} {
}

// -----

task.program "cpu" lanes 1 model {} {
  task.stream @s bytes 512 {
    task.pack "f32" "f32" of "a" rows [0, 1] columns [0, 64] at 0 bytes 256
    // expected-error@+1 {{begins at 128, before the end of the one above, 256}}
    task.pack "f32" "f32" of "b" rows [0, 1] columns [0, 64] at 128 bytes 256
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  // expected-error@+1 {{holds 128 bytes, but its packs end at 256}}
  task.stream @s bytes 128 {
    task.pack "f32" "f32" of "a" rows [0, 1] columns [0, 64] at 0 bytes 256
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  // expected-error@+1 {{address 32 is no multiple of 64}}
  task.stream @s bytes 128 at 32 {
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  task.stream @s bytes 512 {
    // expected-error@+1 {{states 255 bytes, but f32 [1, 64] as f32 takes 256}}
    task.pack "f32" "f32" of "a" rows [0, 1] columns [0, 64] at 0 bytes 255
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  task.stream @s bytes 512 {
    // expected-error@+1 {{form is 'tiles', not raw, f32, panels, codes, scales, mins or rope_table}}
    task.pack "tiles" "f32" of "a" rows [0, 1] columns [0, 64] at 0 bytes 256
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  task.stream @s bytes 2048 {
    // expected-error@+1 {{states 1023 bytes, but u8 [32, 32] as codes takes 1024}}
    task.pack "codes" "q4_0" of "a" rows [0, 32] columns [0, 64] at 0 bytes 1023
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  task.stream @s bytes 2048 {
    // expected-error@+1 {{states 1152 bytes, but f16 [32, 2] as scales takes 128}}
    task.pack "scales" "q8_0" of "a" rows [0, 32] columns [0, 64] at 0 bytes 1152
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  task.stream @s bytes 2048 {
    // expected-error@+1 {{q4_0 columns [0, 64] have no mins: expected whole groups of a type that is stored so}}
    task.pack "mins" "q4_0" of "a" rows [0, 32] columns [0, 64] at 0 bytes 128
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  task.stream @s bytes 2048 {
    // expected-error@+1 {{q4_1 columns [16, 64] have no codes}}
    task.pack "codes" "q4_1" of "a" rows [0, 32] columns [16, 64] at 0 bytes 1024
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  task.stream @s bytes 2048 {
    // expected-error@+1 {{q4_k columns [0, 256] have no codes}}
    task.pack "codes" "q4_k" of "a" rows [0, 1] columns [0, 256] at 0 bytes 128
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  task.stream @s bytes 512 {
    // expected-error@+1 {{a rope_table needs a magnitude and 32 values}}
    task.pack "rope_table" "f32" of "a" rows [0, 1] columns [0, 32] at 0 bytes 256
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  task.stream @s bytes 512 {
    // expected-error@+1 {{f16 raw has no values}}
    task.pack "raw" "f16" of "a" rows [0, 1] columns [0, 2] at 0 bytes 4 values dense<[1.0, 0.5]> : tensor<2xf32>
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  task.stream @s bytes 512 {
    // expected-error@+1 {{found 2 values, expected one for each of 1 x 4}}
    task.pack "f32" "f32" of "a" rows [0, 1] columns [0, 4] at 0 bytes 16 values dense<[1.0, 0.5]> : tensor<2xf32>
  }
}

// -----

task.program "cpu" lanes 2 model {} {
  task.body @b [] {
    // expected-error@+1 {{has 1 lanes, the program 2}}
    task.segment {
      task.lane 0 {
      }
    }
  }
}

// -----

task.program "cpu" lanes 2 model {} {
  task.body @b [] {
    task.segment {
      // expected-error@+1 {{has index 1 where 0 is next}}
      task.lane 1 {
      }
    }
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  // expected-error@+1 {{param 'p' is in scratch, not in weights or kv}}
  task.body @b [#task.param<scratch "p" bytes 4>] {
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  task.body @b [] {
    task.segment {
      task.lane 0 {
        // expected-error@+1 {{'cpu.dance' is no task op}}
        task.run "cpu.dance" for "x" []
      }
    }
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  task.buffer @x bytes 128
  task.body @b [] {
    task.segment {
      task.lane 0 {
        // expected-error@+1 {{operand 0: bytes 64 to 192 lie outside the 128 of '@x'}}
        task.run "cpu.copy" for "x" [#task.operand<scratch "@x" + 64 : f32 [32] strides [1] bytes 128>]
      }
    }
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  task.body @b [] {
    task.segment {
      task.lane 0 {
        // expected-error@+1 {{operand 0: no task.buffer @y}}
        task.run "cpu.copy" for "x" [#task.operand<scratch "@y" + 0 : f32 [32] strides [1] bytes 128>]
      }
    }
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  task.body @b [#task.param<kv "k" bytes 64>] {
    task.segment {
      task.lane 0 {
        // expected-error@+1 {{operand 0: the body has no weights param 'k'}}
        task.run "cpu.copy" for "x" [#task.operand<weights "k" + 0 : f32 [16] strides [1] bytes 64>]
      }
    }
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  task.body @b [] {
    task.segment {
      task.lane 0 {
        // expected-error@+1 {{operand 0: touches 128 bytes but states only 64}}
        task.run "cpu.copy" for "x" [#task.operand<scratch + 0 : f32 [32] strides [1] bytes 64>]
      }
    }
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  task.body @b [] {
    task.segment {
      task.lane 0 {
        // expected-error@+1 {{operand 0: 'gravity' is no symbol of an entry}}
        task.run "cpu.copy" for "x" [#task.operand<symbol "gravity" + 0 : f32 [32] strides [1] bytes 128>]
      }
    }
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  // expected-error@+1 {{context is 64; a head has 0, every other entry at least 1}}
  task.entry @head.1 "head" rows 1 context 64 group "head.1" {
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  task.entry @head.1 "head" rows 1 context 0 group "head.1" {
    // expected-error@+1 {{no task.body @nothing}}
    task.call @nothing []
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  task.body @b [#task.param<weights "w" bytes 128>] {
  }
  task.entry @head.1 "head" rows 1 context 0 group "head.1" {
    // expected-error@+1 {{gives 0 values for the 1 params of @b}}
    task.call @b []
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  task.stream @s bytes 64 {
  }
  task.body @b [#task.param<weights "w" bytes 128>] {
  }
  task.entry @head.1 "head" rows 1 context 0 group "head.1" {
    // expected-error@+1 {{param 'w' takes 128 bytes, @s holds 64}}
    task.call @b [@s]
  }
}

// -----

task.program "cpu" lanes 1 model {} {
  task.body @b [] {
    task.segment {
      task.lane 0 {
        // expected-error@+1 {{operand 0: q4_0 cannot have the dims and strides of}}
        task.run "cpu.copy" for "x" [#task.operand<weights + 0 : q4_0 [16, 33] panels bytes 1024>]
      }
    }
  }
}
