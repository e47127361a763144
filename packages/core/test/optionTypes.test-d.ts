import { expectTypeOf, test } from 'vitest';
import {
  type ChangesOptions,
  type HttpError,
  type Limit,
  type PollOptions,
  type RateLimitError,
  SluiceError,
  type WatchOptions,
  type WriteOptions,
} from '../src/index.js';
import type { PipePagesOptions, RunOptions } from '../src/kit.js';

/** An object that has each of the options as `undefined`, as a caller does who passes on its own options. */
type Unset<Options, Required extends keyof Options = never> = Pick<Options, Required> &
  Readonly<Record<Exclude<keyof Options, Required>, undefined>>;

test('an option that may be left out may be undefined', () => {
  expectTypeOf<Unset<PollOptions, 'every'>>().toExtend<PollOptions>();
  expectTypeOf<Unset<WatchOptions<object>, 'every'>>().toExtend<WatchOptions<object>>();
  expectTypeOf<Unset<ChangesOptions<object>, 'key'>>().toExtend<ChangesOptions<object>>();
  expectTypeOf<Unset<WriteOptions<object>>>().toExtend<WriteOptions<object>>();
  expectTypeOf<Unset<PipePagesOptions<object>>>().toExtend<PipePagesOptions<object>>();
  expectTypeOf<Unset<RunOptions>>().toExtend<RunOptions>();
  expectTypeOf<Unset<Limit, 'requests' | 'per'>>().toExtend<Limit>();
});

test('an error of a code has the properties of its class', () => {
  const error: unknown = undefined;
  if (SluiceError.is(error, 'http')) expectTypeOf(error).toEqualTypeOf<HttpError>();
  if (SluiceError.is(error, 'rate-limited')) expectTypeOf(error.retryAt).toEqualTypeOf<RateLimitError['retryAt']>();
  if (SluiceError.is(error, 'lock')) expectTypeOf(error).toEqualTypeOf<SluiceError>();
  if (SluiceError.is(error)) expectTypeOf(error).toEqualTypeOf<SluiceError>();
});
