import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { deferred, load, settled } from "./load.mjs";

const { createStream, StreamFailedError, StreamInvalidRetryAttemptsError, DovetailError, DEFAULT_RETRY_ATTEMPTS, DEFAULT_RETRY_DELAY } =
  await load("index.ts");

/** A source whose subscriptions a test drives by hand. */
function source() {
  const made = [];
  const subscribe = async (callback, onFail, onClose) => {
    const one = { callback, onFail, onClose, closed: 0 };
    made.push(one);
    return () => one.closed++;
  };
  return { made, subscribe, last: () => made.at(-1) };
}

/** Every callback of a stream, in the order they are called. */
function recorder(extra = {}) {
  const log = [];
  const note = (name) => (...given) => log.push([name, ...given.map((one) => (one instanceof Error ? one.message : one))]);
  const options = {};
  for (const name of ["onValue", "onError", "onEnd", "onFail", "onRetry", "onRestart", "onLag"]) options[name] = note(name);
  return { log, options: { retryDelay: 5, ...options, ...extra } };
}

/** Waits for what must come, however busy the machine. */
async function until(condition) {
  for (const end = Date.now() + 10_000; !condition(); await pause(2)) assert.ok(Date.now() < end, "it never came");
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const DONE = { done: true, value: undefined };

test("values come out in order, to the loop and to onValue, and undefined is none", async () => {
  const { subscribe, last } = source();
  const { log, options } = recorder();
  const stream = await createStream(subscribe, undefined, options);
  for (const value of [1, undefined, 2, 3]) last().callback(null, value);
  const seen = [];
  for await (const value of stream) if (seen.push(value) === 3) break;
  assert.deepEqual(seen, [1, 2, 3]);
  assert.deepEqual(log, [["onValue", 1], ["onValue", 2], ["onValue", 3], ["onEnd"]]);
  assert.equal(last().closed, 1);
});

test("values reported while subscribing are kept", async () => {
  const stream = await createStream(async (callback) => {
    callback(null, 7);
    return () => {};
  });
  assert.deepEqual(await stream.next(), { done: false, value: 7 });
});

test("end() from outside finishes a pending loop normally", async () => {
  const { subscribe } = source();
  const stream = await createStream(subscribe);
  setTimeout(() => void stream.end(), 5);
  for await (const _ of stream) assert.fail("no value was sent");
  assert.equal(stream.isDone, true);
});

test("throwing in the loop ends the stream", async () => {
  const { subscribe, last } = source();
  const stream = await createStream(subscribe);
  last().callback(null, 1);
  await assert.rejects(async () => {
    for await (const _ of stream) throw new Error("mine");
  }, /mine/);
  assert.deepEqual([stream.isDone, last().closed], [true, 1]);
});

test("parallel next() calls are served in order", async () => {
  const { subscribe, last } = source();
  const stream = await createStream(subscribe);
  const calls = [stream.next(), stream.next(), stream.next()];
  for (const value of ["a", "b", "c"]) last().callback(null, value);
  assert.deepEqual((await Promise.all(calls)).map(({ value }) => value), ["a", "b", "c"]);
});

test("return() settles pending next() calls, and drops what nobody took", async () => {
  const { subscribe, last } = source();
  const stream = await createStream(subscribe);
  const pending = [stream.next(), stream.next()];
  assert.deepEqual(await stream.return(), DONE);
  assert.deepEqual(await Promise.all(pending), [DONE, DONE]);
  last().callback(null, 1);
  assert.deepEqual(await stream.next(), DONE);
});

test("end() is idempotent and onEnd comes once", async () => {
  const { subscribe, last } = source();
  const { log, options } = recorder();
  const stream = await createStream(subscribe, undefined, options);
  await Promise.all([stream.end(), stream.end(), stream.return()]);
  assert.deepEqual(log, [["onEnd"]]);
  assert.equal(last().closed, 1);
});

test("the stream has four members and the iterator, and none can be changed", async () => {
  const stream = await createStream(source().subscribe);
  assert.deepEqual(Reflect.ownKeys(stream), ["next", "return", "end", "isDone", Symbol.asyncIterator]);
  const { next } = stream;
  stream.next = () => "mine";
  stream.extra = 1;
  stream.isDone = true;
  delete stream.end;
  assert.deepEqual([stream.next, stream.extra, stream.isDone, typeof stream.end], [next, undefined, false, "function"]);
  assert.equal(stream[Symbol.asyncIterator](), stream);
});

test("a mutator makes the values, leaves out undefined ones, and its errors go to onError", async () => {
  const { subscribe, last } = source();
  const { log, options } = recorder();
  const double = (value) => {
    if (value === 2) throw new Error("unreadable");
    return value === 3 ? undefined : value * 2;
  };
  const stream = await createStream(subscribe, double, options);
  for (const value of [1, 2, 3, 4]) last().callback(null, value);
  await stream.end();
  assert.deepEqual(log, [["onValue", 2], ["onError", "unreadable"], ["onValue", 8], ["onEnd"]]);
});

test("a slow mutator does not change the order", async () => {
  const { subscribe, last } = source();
  const { log, options } = recorder();
  const slow = deferred();
  const stream = await createStream(subscribe, (value) => (value === 1 ? slow.promise : value), options);
  for (const value of [1, 2, 3]) last().callback(null, value);
  await settled();
  assert.deepEqual(log, []);
  slow.resolve("one");
  await settled();
  last().callback(null, 4);
  assert.deepEqual(log, [["onValue", "one"], ["onValue", 2], ["onValue", 3], ["onValue", 4]]);
  await stream.end();
});

test("a value still being made when the stream ends is dropped", async () => {
  const { subscribe, last } = source();
  const { log, options } = recorder();
  const slow = deferred();
  const stream = await createStream(subscribe, () => slow.promise, options);
  last().callback(null, 1);
  await stream.end();
  slow.resolve(2);
  await settled();
  assert.deepEqual(log, [["onEnd"]]);
});

test("a mutator that ends the stream gets its value dropped", async () => {
  const { subscribe, last } = source();
  const { log, options } = recorder();
  const stream = await createStream(
    subscribe,
    (value) => {
      void stream.end();
      return value;
    },
    options,
  );
  last().callback(null, 1);
  assert.deepEqual(log, [["onEnd"]]);
});

test("errors and failing onValue callbacks are reported and nothing ends", async () => {
  const { subscribe, last } = source();
  const { log, options } = recorder({
    onValue: (value) => {
      if (value === 1) throw new Error("sync");
      return Promise.reject(new Error("async"));
    },
  });
  const stream = await createStream(subscribe, undefined, options);
  last().callback(new Error("from below"), undefined);
  last().callback(null, 1);
  last().callback(null, 2);
  await settled();
  assert.deepEqual(log, [["onError", "from below"], ["onError", "sync"], ["onError", "async"]]);
  assert.deepEqual([stream.isDone, (await stream.next()).value, (await stream.next()).value], [false, 1, 2]);
  await stream.end();
});

test("a broken subscription is made again: onFail, onRetry, onRestart", async () => {
  const { made, subscribe, last } = source();
  const { log, options } = recorder();
  const stream = await createStream(subscribe, undefined, options);
  made[0].onFail();
  made[0].onFail();
  assert.equal(made[0].closed, 1);
  await until(() => log.length === 3);
  made[0].callback(null, "late");
  last().callback(null, 42);
  assert.deepEqual(log, [["onFail"], ["onRetry", 1, DEFAULT_RETRY_ATTEMPTS], ["onRestart"], ["onValue", 42]]);
  await stream.end();
  assert.deepEqual(made.map(({ closed }) => closed), [1, 1]);
});

test("a first subscription that fails is retried, and the stream is there at once", async () => {
  let calls = 0;
  const { log, options } = recorder({ retryAttempts: 3 });
  const stream = await createStream(async () => {
    if (++calls < 3) throw new Error(`no ${calls}`);
    return () => {};
  }, undefined, options);
  await until(() => log.length === 5);
  assert.deepEqual(log, [["onError", "no 1"], ["onRetry", 1, 3], ["onError", "no 2"], ["onRetry", 2, 3], ["onRestart"]]);
  await stream.end();
});

for (const [attempts, text] of [[0, "0 times"], [1, "1 time"], [2, "2 times"]]) {
  test(`a stream that never comes back ends after its retries (${attempts})`, async () => {
    const errors = [];
    const { log, options } = recorder({ retryAttempts: attempts, onError: (error) => errors.push(error) });
    const stream = await createStream(async () => {
      throw new Error("always");
    }, undefined, options);
    await until(() => stream.isDone);
    const last = errors.at(-1);
    assert.ok(last instanceof StreamFailedError && last instanceof DovetailError);
    assert.deepEqual([last.message, last.code, last.name], [`Stream failed, retried ${text}`, "stream.failed", "StreamFailedError"]);
    assert.equal(errors.length, attempts + 2);
    assert.equal(stream.isDone, true);
    assert.deepEqual(log.at(-1), ["onEnd"]);
    assert.deepEqual(await stream.next(), DONE);
  });
}

test("the budget of retries is never refilled", async () => {
  const { made, subscribe, last } = source();
  const { log, options } = recorder({ retryAttempts: 2 });
  const stream = await createStream(subscribe, undefined, options);
  for (let failure = 0; failure < 3; failure++) {
    last().onFail();
    await until(() => stream.isDone || made.length === failure + 2);
  }
  assert.equal(made.length, 3);
  assert.equal(stream.isDone, true);
  assert.deepEqual(log.slice(-2), [["onError", "Stream failed, retried 2 times"], ["onEnd"]]);
});

test("without retries a failure rejects the call, or ends the stream later", async () => {
  const { log, options } = recorder({ retryOnFail: false, retryAttempts: -1 });
  const never = async () => {
    throw new Error("first");
  };
  await assert.rejects(createStream(never, undefined, options), { name: "StreamFailedError", message: /retried 0 times/ });
  const early = async (_, onFail) => {
    onFail();
    return () => {};
  };
  await assert.rejects(createStream(early, undefined, options), StreamFailedError);
  assert.deepEqual(log, [["onError", "first"], ["onFail"]]);
  const { subscribe, last } = source();
  const stream = await createStream(subscribe, undefined, options);
  last().onFail();
  assert.deepEqual(log.slice(2), [["onFail"], ["onError", "Stream failed, retried 0 times"], ["onEnd"]]);
  assert.equal(stream.isDone, true);
});

test("negative attempts are refused", async () => {
  const call = createStream(source().subscribe, undefined, { retryAttempts: -1 });
  await assert.rejects(call, { message: "Stream retry attempts must be greater than 0" });
  await assert.rejects(createStream(source().subscribe, undefined, { retryAttempts: -1 }), StreamInvalidRetryAttemptsError);
});

test("nothing happens after end(), whatever is on its way", async () => {
  const { made, subscribe } = source();
  const { log, options } = recorder();
  const stream = await createStream(subscribe, undefined, options);
  made[0].onFail();
  await stream.end();
  made[0].callback(null, 1);
  made[0].callback(new Error("late"), undefined);
  made[0].onFail();
  await pause(20);
  assert.deepEqual(log, [["onFail"], ["onEnd"]]);
  assert.equal(made.length, 1);
});

test("a subscription finished after end() is closed at once", async () => {
  const waits = [deferred(), deferred()];
  const calls = [];
  const { log, options } = recorder();
  const subscribe = (callback, onFail) => {
    calls.push({ callback, onFail });
    return waits[calls.length - 1].promise;
  };
  waits[0].resolve(() => {});
  const stream = await createStream(subscribe, undefined, options);
  calls[0].onFail();
  await until(() => calls.length === 2);
  await stream.end();
  let closed = 0;
  waits[1].resolve(() => closed++);
  await settled();
  assert.deepEqual([closed, log], [1, [["onFail"], ["onRetry", 1, 6], ["onEnd"]]]);
});

test("a subscription that breaks while it is made is not announced", async () => {
  const second = deferred();
  const calls = [];
  const { log, options } = recorder();
  const subscribe = async (callback, onFail) => {
    calls.push({ onFail });
    return calls.length === 2 ? second.promise : () => {};
  };
  const stream = await createStream(subscribe, undefined, options);
  calls[0].onFail();
  await until(() => calls.length === 2);
  calls[1].onFail();
  let closed = 0;
  second.resolve(() => closed++);
  await until(() => log.length === 5);
  assert.deepEqual([calls.length, closed], [3, 1]);
  assert.deepEqual(log.map(([name]) => name), ["onFail", "onRetry", "onFail", "onRetry", "onRestart"]);
  await stream.end();
});

test("onRetry may end the stream", async () => {
  const { made, subscribe } = source();
  const stream = await createStream(subscribe, undefined, { retryDelay: 1, onRetry: () => void stream.end() });
  made[0].onFail();
  await until(() => stream.isDone);
  await settled();
  assert.equal(made.length, 1);
});

test("a stream ends even if its callbacks throw", async () => {
  const { made, subscribe } = source();
  const stream = await createStream(subscribe, undefined, {
    retryAttempts: 0,
    onError: () => {
      throw new Error("mine");
    },
  });
  assert.throws(() => made[0].onFail(), /mine/);
  assert.equal(stream.isDone, true);
  made[0].callback(null, 1);
  assert.deepEqual(await stream.next(), DONE);
});

test("a closed client ends the stream without retries", async () => {
  const { made, subscribe } = source();
  const { log, options } = recorder();
  const stream = await createStream(subscribe, undefined, options);
  made[0].onClose();
  assert.deepEqual([stream.isDone, log], [true, [["onEnd"]]]);
  const closed = new DovetailError("client.closed", "closed");
  await assert.rejects(createStream(async () => Promise.reject(closed)), { code: "client.closed" });
});

test("values nobody takes are dropped beyond a bound, and counted", async () => {
  const { subscribe, last } = source();
  let missed = 0;
  const stream = await createStream(subscribe, undefined, { onLag: (count) => (missed += count) });
  for (let value = 0; value < 10_005; value++) last().callback(null, value);
  assert.deepEqual([missed, (await stream.next()).value], [5, 5]);
  await stream.end();
  // Who takes them by onValue misses nothing.
  const other = await createStream(subscribe, undefined, { onValue: () => {}, onLag: () => assert.fail("nothing was missed") });
  for (let value = 0; value < 10_005; value++) last().callback(null, value);
  await other.end();
});

test("defaults are six attempts, ten seconds apart", async () => {
  assert.deepEqual([DEFAULT_RETRY_ATTEMPTS, DEFAULT_RETRY_DELAY], [6, 10_000]);
  mock.timers.enable({ apis: ["setTimeout"] });
  const { made, subscribe, last } = source();
  const stream = await createStream(subscribe);
  last().onFail();
  mock.timers.tick(9_999);
  assert.equal(made.length, 1);
  mock.timers.tick(1);
  assert.equal(made.length, 2);
  mock.timers.reset();
  await stream.end();
});
