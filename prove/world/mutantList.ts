/** A fault that somebody could write. The worlds must find it. */
export interface Mutant {
  readonly name: string;
  readonly file: string;
  /** Its tokens are there once; layout and comments do not count. */
  readonly from: string;
  readonly to: string;
}

function inFile(file: string, mutants: readonly (readonly [name: string, from: string, to: string])[]): Mutant[] {
  return mutants.map(([name, from, to]) => ({ name, file, from, to }));
}

export const mutantList: readonly Mutant[] = [
  ...inFile('packages/core/src/node/files/partFile.ts', [
    [
      'the name of .part is not durable at the first commit',
      'await settleAll([this.#opened.flush(), this.#opened.syncName()]);',
      'await settleAll([this.#opened.flush()]);',
    ],
    [
      'a commit does not flush the rows',
      'await settleAll([this.#opened.flush(), this.#opened.syncName()]);',
      'await settleAll([Promise.resolve(this.#opened.sinkPosition), this.#opened.syncName()]);',
    ],
    ['nothing is truncated on resume', 'await this.#file?.cut();\n  }', '}'],
    ['a cleared .part is not durably gone', "await this.#syncFolder('removed');", ''],
    [
      'a sealed file that is in place is linked again',
      'if (isUnnamed) await this.#giveName();',
      'await this.#giveName();',
    ],
  ]),
  ...inFile('packages/core/src/node/files/wholeFile.ts', [
    [
      'a record gets its name before its bytes are durable, in a state or a run',
      "    await withPath(file.sync(), known, 'written');\n",
      '',
    ],
  ]),
  ...inFile('packages/core/src/node/fileState.ts', [
    [
      'what a killed process wrote is not made durable',
      "if (await this.#clearUnfinished(use)) await withPath(this.#fs.syncFolder(this.folder), this.folder, 'written');",
      'await this.#clearUnfinished(use);',
    ],
  ]),
  ...inFile('packages/core/src/node/files/segmentFolder.ts', [
    [
      'the folder of segments is not durable',
      "        await withPath(this.#fs.syncFolder(dirname(this.path)), this.path, 'created');\n",
      '',
    ],
    [
      'the names of segments are not durable',
      "    await withPath(this.#fs.syncFolder(this.path), this.path, 'written');\n    this.#hasNewNames",
      '    this.#hasNewNames',
    ],
    [
      'removed segments come back after a power cut',
      "if (isRemoved) await withPath(this.#fs.syncFolder(dirname(this.path)), this.path, 'cleared');\n    else if",
      'if (isRemoved) return;\n    if',
    ],
  ]),
  ...inFile('packages/core/src/node/files/orderedPartitionWriter.ts', [
    [
      'segments are removed before the checkpoint forgets them',
      'if (file && !this.#namedFiles.includes(String(first))) await this.#folder.remove(String(first));',
      'if (file) await this.#folder.remove(String(first));',
    ],
    [
      'outdated segments are removed in the commit that makes them so',
      'this.#outdatedFiles = this.#namedFiles.filter((name) => !named.includes(name));',
      'await settleAll(this.#namedFiles.filter((name) => !named.includes(name)).map((name) => this.#folder.remove(name)));',
    ],
    ['segments are not cut on resume', 'await file?.cut();', ''],
    ['segments are not flushed', 'file ? await file.flush() : startOfFile;', 'file?.sinkPosition ?? startOfFile;'],
    [
      'partitions go into the file in the order in which they end',
      'const next = this.#waiting.get(segment.front);',
      'const next = this.#waiting.get(segment.front + 1);',
    ],
    [
      'waiting blocks are not kept',
      'if (waiting.length === 0) return undefined;',
      'if (waiting.length >= 0) return undefined;',
    ],
  ]),
  ...inFile('packages/core/src/node/files/appendFile.ts', [
    ['rows are not synced', "await withPath(this.#file.sync(), this.path, 'written');", ''],
    [
      'the final name is not durable before .part is unlinked',
      'await fileSystem.syncFolder(dirname(to));\n  await fileSystem.unlink(from);',
      'await fileSystem.unlink(from);',
    ],
  ]),
  ...inFile('packages/core/src/node/files/recordFile.ts', [
    [
      'a record of a log is not durable',
      "    await writeAll(file, this.#path, line, this.#bytes);\n    await withPath(file.sync(), this.#path, 'written');",
      '    await writeAll(file, this.#path, line, this.#bytes);',
    ],
    [
      'the name of a replaced record is not durable',
      'await this.#syncName();\n    this.#isPoisoned = false;',
      'this.#isPoisoned = false;',
    ],
    ['a torn record is believed', 'checksum(json) === sum', "checksum(json) !== ''"],
  ]),
  ...inFile('packages/core/src/rows/export/exportRun.ts', [
    [
      'a mark moves before the target is in place',
      'const report = await writer.close();',
      'if (commits.checkpoint) await this.#job.companion?.published(commits.checkpoint);\n    const report = await writer.close();',
    ],
    [
      'a stopped walk is sealed',
      'if (!this.#isStopped()) yield this.#finished(await this.#complete(writer));\n    else if (commits.isBehind)',
      'yield this.#finished(await this.#complete(writer));\n    if (commits.isBehind)',
    ],
    [
      'a commit is due a page later',
      'if (commits.isDue || writer.isFull) await',
      'if (commits.isDue && commits.counts.pages > 10) await',
    ],
  ]),
  ...inFile('packages/core/src/rows/export/commits.ts', [
    [
      'a checkpoint speaks of rows before they are durable',
      'const sinkPosition = await writer.flush();',
      'void writer.flush();\n    const sinkPosition = this.#checkpoint?.sinkPosition ?? null;',
    ],
    [
      'nobody waits for a checkpoint',
      '...record,\n    };\n    await this.#save(this.#checkpoint);',
      '...record,\n    };\n    void this.#save(this.#checkpoint);',
    ],
    [
      'a partition that is walked again keeps its rows',
      'this.#checkpoint = checkpoint;\n    await this.#save(checkpoint);\n    this.#resumedRows',
      'this.#resumedRows',
    ],
    [
      'a finished export is forgotten',
      'await this.#save({ ...this.#checkpoint, finishedAt }).catch(() => this.reportCommitted(undefined));',
      'await this.remove();',
    ],
  ]),
  ...inFile('packages/core/src/http/limit/requestWindows.ts', [
    ['one start too many fits into a window', '(costs[this.#w] ?? 1) - max;', '(costs[this.#w] ?? 1) - max - 1;'],
    ['a window is a little short', 'at + this.#window.span > now', 'at + this.#window.span * 0.98 > now'],
  ]),
  ...inFile('packages/core/src/http/limit/lateness.ts', [
    [
      'a response comes before its request arrived',
      'arrivalMargin ? took - arrivalMargin',
      'arrivalMargin ? -2 * arrivalMargin',
    ],
  ]),
  ...inFile('packages/exporters/src/webhook/webhookWriter.ts', [
    [
      'records are sent before they are in the spool',
      'await this.#spool.append(pages, this.#sinkPosition);\n        for (const page of pages) this.#sendOrLeave(page);',
      'for (const page of pages) this.#sendOrLeave(page);\n        await this.#spool.append(pages, this.#sinkPosition);',
    ],
    ['a page does not wait for those before it', '? this.#waitForDeliveries()', '? undefined'],
    [
      'a flush does not wait for what is under way',
      'if (this.#maxSpool === undefined) await this.#deliveries.until(this.#next);',
      '',
    ],
    ['what is under way is not sent again', 'this.#queued = sinkPosition.settled;', 'this.#queued = end;'],
  ]),
  ...inFile('packages/core/src/node/files/endlessFile.ts', [
    ['changes behind the checkpoint are not cut off', 'await this.#file.cut();\n    this.#version', 'this.#version'],
    ['pending changes are written twice', 'this.#pending = [];\n      this.#pendingBytes = 0;', ''],
  ]),
  ...inFile('packages/core/src/node/folderLock.ts', [
    ['nobody looks for other claims', 'if (others.length === 0) return true;', 'if (others.length >= 0) return true;'],
  ]),
  ...inFile('packages/core/src/rows/source/walk.ts', [
    [
      'pages are fetched further ahead than asked for',
      'this.#capacity = concurrency + prefetch;',
      'this.#capacity = concurrency + prefetch + 1;',
    ],
    [
      'a partition is walked again from its start',
      'this.#plan.open(partition), begun[partition])',
      'this.#plan.open(partition), undefined)',
    ],
    [
      'a page that failed is passed over',
      'this.#fail(explained(chain.partition, error));',
      'this.#chains.delete(chain);',
    ],
  ]),
  ...inFile('packages/core/src/position.ts', [
    [
      'a partition that was begun is taken for finished',
      'const isFront = first === position.before;',
      'const isFront = first <= position.before + 1;',
    ],
  ]),
  ...inFile('packages/core/src/rows/source/repeats.ts', [
    ['a page that comes again is written', 'if (this.#pages.has(page))', 'if (this.#pages.size < 0)'],
    [
      'a page that comes again is not known after a restart',
      'for (const page of [first, previous, landmark])',
      'for (const page of [landmark])',
    ],
  ]),
  ...inFile('packages/core/src/rows/source/pageChain.ts', [
    [
      'a page whose rows are gone ends a listing',
      "if (next === 'end') return undefined;",
      "if (next === 'end' || empty > 0) return undefined;",
    ],
    [
      'a walk that resumes does not know the rows of the page before',
      'this.#position = from ?? {',
      'this.#position = from?.hash !== undefined ? { ...from, hash: `not ${from.hash}` } : from ?? {',
    ],
    [
      'known rows count for no offset',
      '...(offset !== undefined && { offset: offset + received.length })',
      '...(offset !== undefined && { offset: offset + emitted })',
    ],
    [
      'two pages whose rows are gone are a loop',
      'if (isEmpty && empty >= maxEmptyPages)',
      'if (isEmpty && empty >= 1)',
    ],
  ]),
  ...inFile('packages/core/src/rows/watch/watchRun.ts', [
    [
      'a page that comes again ends a watch',
      'if (isOwnFault(error)) return true;',
      "if (isOwnFault(error) || SluiceError.is(error, 'no-progress')) return true;",
    ],
  ]),
  ...inFile('packages/core/src/http/adapter/sendAttempt.ts', [
    [
      'a body in parts may take longer than its deadline',
      'afterRunning(clock, deadline, onDeadline, { onLate })',
      'afterRunning(clock, deadline * 1.1, onDeadline, { onLate })',
    ],
    [
      'a body in parts is read on after its deadline',
      "resolve(new AdapterFault('late'));\n      stop.abort();",
      "resolve(new AdapterFault('late'));",
    ],
  ]),
  ...inFile('packages/core/src/http/adapter/incoming.ts', [
    [
      'a body in parts ends with the first',
      'if (!this.#decompress) this.#keep(chunk);',
      'if (!this.#decompress) {\n      this.#keep(chunk);\n      this.close();\n    }',
    ],
    ['a body in parts that breaks off is complete', 'this.#reject(reason);', 'this.#resolve();'],
  ]),
  ...inFile('packages/core/src/http/limit/localLimiter.ts', [
    ['a start counts when it is permitted', 'at: now + this.#longestPending', 'at: now'],
    ['a written start counts from its permit', 'isWritten ? this.#now : undefined', 'isWritten ? now : undefined'],
    [
      'a request is written in a pause',
      'this.#now >= this.#pausedUntil && (this.#budget?.mayStart(costs) ?? true)',
      'this.#budget?.mayStart(costs) ?? true',
    ],
    ['a later pause shortens a longer one', 'Math.max(this.#pausedUntil, this.#now + ms)', 'this.#now + ms'],
  ]),
  ...inFile('packages/core/src/http/response/retryAfter.ts', [
    ['a Retry-After is cut short', 'return number * 1000;', 'return number * 900;'],
  ]),
  ...inFile('packages/core/src/http/exchange.ts', [
    ['a 429 pauses nobody', 'if (fault.pauses) this.#pauseFor(', 'if (delay < 0) this.#pauseFor('],
    [
      'a request that is sent again takes no permit',
      'const acquired = limiter.acquire({ route, signal });',
      'const acquired = isFresh ? { release: () => undefined } : limiter.acquire({ route, signal });',
    ],
    [
      'a request that is redirected takes no permit',
      'const acquired = limiter.acquire({ route, signal });',
      'const acquired = requested.redirects > 0 ? { release: () => undefined } : limiter.acquire({ route, signal });',
    ],
    ['a permit is never given back', "permit.release(mayBeWritten ? undefined : 'unwritten');", ''],
  ]),
  ...inFile('packages/core/src/define/since/sinceValue.ts', [
    [
      'a mark passes rows that are not seen yet',
      "return printTime(format, (last < now ? last : now) - instantOf(overlap), 'from');",
      'return latest;',
    ],
  ]),
  ...inFile('packages/core/src/rows/export/increments/listingIncrement.ts', [
    ['the overlap counts from the last page', 'Math.min(this.#progress.began ?? at, at)', 'at'],
  ]),
  ...inFile('packages/core/src/rows/export/increments/parentIncrements.ts', [
    [
      'marks of parents count before the target is published',
      'if (isMarked) this.#take(record.parents, mark.v === 1);',
      'this.#take(record.parents, mark?.v === 1);',
    ],
    [
      'a parent has no mark',
      'const start = { mark: this.#markOf(parent), from: this.#start.from, before, until: window?.until };',
      'const start = { mark: undefined, from: this.#start.from, before, until: window?.until };',
    ],
  ]),
  ...inFile('packages/core/src/define/conditionalPages.ts', [
    ['a page that has not changed has no rows', 'decode: () => rows };', 'decode: () => [] };'],
  ]),
  ...inFile('packages/core/src/rows/source/pageCache.ts', [
    ['a stored page that was used is dropped', 'entry.walk = this.#walk;', ''],
  ]),
  ...inFile('packages/core/src/quota/quotaPace.ts', [
    [
      'a quota is renewed when it says so',
      'if (left < 1) return known.staleAt;',
      'if (left < 1) return known.resetAt;',
    ],
  ]),
  ...inFile('packages/core/src/quota/quotaBook.ts', [
    ['a 403 without quota is final', 'const isUsedUp = mayRefuse &&', 'const isUsedUp = status === 429 &&'],
  ]),
  ...inFile('packages/core/src/define/parents/parents.ts', [
    [
      'rows of a parent are requested before it is recorded',
      'await this.#record(page);',
      'void this.#record(page).catch(() => undefined);',
    ],
    ['a parent that is listed twice has two partitions', 'this.#paths.get(text) ?? paths.get(text)', 'paths.get(text)'],
    ['recorded parents are requested again', 'reached = page.next;', 'reached ??= page.next;'],
    ['parents of two rooms that share a key are one', '[...above, rowKey(', '[rowKey('],
    ['the rows above parents are recorded among them', 'partitionLog.log(level + 1)', 'partitionLog.log(level)'],
  ]),
  ...inFile('packages/core/src/define/pages/until.ts', [
    [
      'a page of a size that rows have followed ends a listing',
      'return size < this.#smallestFollowed && ends',
      'return ends',
    ],
  ]),
  ...inFile('packages/core/src/define/responses/pageReader.ts', [
    [
      'a repeated last page is emitted again',
      "if (ends === 'before') return counted({ ...withoutRows, total: count });",
      '',
    ],
  ]),
  ...inFile('packages/core/src/define/since/pageInside.ts', [
    [
      'a walk in any order ends at known rows',
      "const isPast = order === 'newest-first' && rows.length > 0",
      'const isPast = rows.length > 0',
    ],
  ]),
  ...inFile('packages/core/src/rows/export/startOver.ts', [
    [
      'a partition whose rows moved does not start over',
      "return info.increment && SluiceError.is(error, 'rows-moved') ? 'rows-moved' : undefined;",
      'return undefined;',
    ],
  ]),
  ...inFile('packages/core/src/define/requests/requestPlace.ts', [
    [
      'a header has no value of a later request',
      'return { ...request, headers: { ...request.headers, [name]: text } };',
      'return request;',
    ],
    [
      'a form has no value of a later request',
      'body: withValue(request.body, steps, value)',
      'body: request.body ?? withValue(request.body, steps, value)',
    ],
  ]),
  ...inFile('packages/core/src/auth/renewedSecret.ts', [
    ['a token is sent when its life is over', 'this.#expires = expiryOf(issued, lifetime);', ''],
    ['a token that the API refuses is not replaced', "if (this.#current === before) void this.#load('refused');", ''],
    ['an error repeats a token', 'this.#hidden.replace(this.#rules.hidden(secret));', ''],
  ]),
  ...inFile('packages/core/src/http/response/statusFault.ts', [
    ['an error repeats the key', 'secrets.redact(visible, excerptSource)', 'visible.slice(0, excerptSource)'],
  ]),
  ...inFile('packages/core/src/rows/watch/watchRun.ts', [
    ['what the consumer has is staged again', 'await log.commit(this.#start.startAt?.generation);', ''],
    ['staged changes are not emitted again', 'const staged = [...log.uncommitted];', 'const staged: Delta<T>[] = [];'],
  ]),
  ...inFile('packages/core/src/rows/watch/watchLog.ts', [
    [
      'changes are emitted before they are staged',
      'await this.#log?.append(encodeDelta(delta));',
      'void this.#log?.append(encodeDelta(delta));',
    ],
    [
      'a committed generation stays staged',
      'this.#staged.filter((delta) => delta.generation > generation)',
      'this.#staged.filter((delta) => delta.generation >= generation)',
    ],
  ]),
  ...inFile('packages/exporters/src/webhook/deliveries.ts', [
    [
      'the first that is not settled is passed over',
      'while (this.#ahead.delete(this.#next)) this.#next += 1;',
      'this.#next = Math.max(this.#next, number + 1);',
    ],
    ['a dead letter is settled before it is durable', 'await this.#options.store(', 'void this.#options.store('],
    [
      'changes of a row overtake each other',
      'this.#queue.add(keys, () => this.#deliver(each, context));',
      'this.#queue.add(new Set([...keys].filter(() => false)), () => this.#deliver(each, context));',
    ],
  ]),
  ...inFile('packages/tables/src/sql/records/fence.ts', [
    ['the sequence of a run is not checked', 'if (changed !== 1) {', 'if (changed > 1) {'],
    [
      'a transaction whose COMMIT was lost is repeated',
      'if (await isCommitted()) return;\n        const { sql, target } = records();\n        const changed = await session.run(\n          `UPDATE ${sql} SET nth = nth + 1${alsoSets} WHERE target = ? AND name = ? AND record = ? AND nth = ?`,\n          target,\n          control,\n          this.#run,\n          BigInt(before),\n        );',
      'const { sql, target } = records();\n        const changed = await session.run(\n          `UPDATE ${sql} SET nth = nth + 1${alsoSets} WHERE target = ? AND name = ? AND record = ?`,\n          target,\n          control,\n          this.#run,\n        );',
    ],
    [
      'a COMMIT that was on its way is taken for another run',
      'if (await isCommitted()) return;\n          throw this.#failure',
      'throw this.#failure',
    ],
    [
      'a run does not take the table over',
      'await this.#options.records().remove(session, control);\n    await session.run(`INSERT INTO ${sql} (target, name, nth, record) VALUES (?, ?, 0, ?)`',
      'await session.run(`INSERT INTO ${sql} (target, name, nth, record) VALUES (?, ?, 0, ?) ON CONFLICT DO NOTHING`',
    ],
  ]),
  ...inFile('packages/tables/src/sql/ledger.ts', [
    [
      'rows are committed before their checkpoint',
      'await joined?.write(session);\n      await this.put(session, name, record);\n    });',
      'await joined?.write(session);\n    });\n    await this.commit((session) => this.put(session, name, record));',
    ],
    ['rows that are committed are written again', 'joined?.settled();', ''],
  ]),
  ...inFile('packages/tables/src/sql/tableConnection.ts', [
    [
      'a connection that is lost at the start ends the export',
      'await this.#repeat(this.#holder, () => this.#connect(signal));',
      'await this.#connect(signal);',
    ],
    ['a lost connection stays open at the end', 'await open?.connection.close().catch(() => undefined);', ''],
  ]),
  ...inFile('packages/tables/src/sql/tableSink.ts', [
    [
      'rows are published in one transaction and recorded in another',
      'await ledger.putPublished(session, { run, mode });\n          if (added.length > 0) await ledger.putAdded(session, []);\n          return done;\n        });',
      'return done;\n        });\n    if (!this.#isPublished)\n      await ledger.commit((session) => ledger.putPublished(session, { run, mode }));',
    ],
    [
      'what is published is published again',
      "if (resumeAt.isSealed && (await findRows(ledger, position)) === 'there')",
      'if (resumeAt.isSealed && position.nth < 0)',
    ],
    [
      'rows of a partition that starts over stay',
      'for (const partition of toDrop) await parts.staging.dropPartition(session, partition);',
      '',
    ],
    [
      'a finished export is run again',
      "if (found === 'there') return { target };",
      "if (found === 'there' && known.nth < 0) return { target };",
    ],
  ]),
  ...inFile('packages/tables/src/sql/stagingTable.ts', [
    ['partitions are in no order', 'const place = partition * rowsOfPartition + nth;', 'const place = nth;'],
  ]),
  ...inFile('packages/tables/src/sql/mergeStaged.ts', [
    [
      'replace keeps rows that the export lacks',
      'const found = await this.#session.run(`DELETE FROM ${gone}`);',
      'const found = this.#isByKey ? 0 : await this.#session.run(`DELETE FROM ${gone}`);',
    ],
    [
      'merge leaves rows as they are',
      'const changed = this.#isByKey ? await this.#update() : 0;',
      "const changed = this.#isByKey && this.#mode !== 'merge' ? await this.#update() : 0;",
    ],
    ['the staging table stays', 'await staging.drop(session);\n  return published;', 'return published;'],
  ]),
  ...inFile('packages/tables/src/sql/mirror.ts', [
    [
      'a generation is recorded in a transaction of its own',
      'if (this.#pending.length === 0) return;\n        const { displaced, poll, added } = state;\n        if (added.length < this.#state.added.length) await ledger.putAdded(session, added);\n        await ledger.put(session, mirrored, {\n          generation: this.#generation,\n          hasRows: await mirror.hasLiveRows(session),\n          ...encodeDisplaced(displaced),\n          ...(poll && { poll }),\n        });\n        if (seen && this.#pending.some(({ changes }) => changes))\n          await ledger.put(session, rowsRecord, seen.toRecord());\n      },\n      settled: () => {',
      'if (seen && this.#pending.some(({ changes }) => changes))\n          await ledger.put(session, rowsRecord, seen.toRecord());\n      },\n      settled: () => {\n        const pending = this.#pending.length;\n        const { displaced, poll } = state;\n        const record = {\n          generation: this.#generation,\n          ...encodeDisplaced(displaced),\n          ...(poll && { poll }),\n        };\n        if (pending > 0) void ledger.commit((session) => ledger.put(session, mirrored, record));',
    ],
  ]),
  ...inFile('packages/tables/src/sql/mirrorTable.ts', [
    [
      'a version that has ended ends again with the next one',
      '`UPDATE ${this.#target.sql} SET ${endVersion} WHERE ${this.#sameKey} AND ${isLive}`',
      '`UPDATE ${this.#target.sql} SET ${endVersion} WHERE ${this.#sameKey}`',
    ],
  ]),
  ...inFile('packages/tables/src/sql/generation.ts', [
    ['removed rows stay in a mirror', 'if (!shape.live) for (const { values } of gone) leave(values);', ''],
  ]),
  ...inFile('packages/tables/src/postgres/connection.ts', [
    [
      'a lost COMMIT is an error like others',
      'if (isLost() || isConnectionFault(error))\n          throw new ConnectionLost',
      'if (isConnectionFault(error) && !isLost())\n          throw new ConnectionLost',
    ],
    ['a conflict ends the export', "['40001', 'conflict with another transaction'],", ''],
  ]),
  ...inFile('packages/cluster/src/run/storedFile.ts', [
    ['a commit without a fence', 'fileSystem.link(from, to)', 'fileSystem.rename(from, to)'],
    [
      'the record of a commit has no durable name',
      "    if (isFree) await withPath(fileSystem.syncFolder(dirname(path)), path, 'written');\n",
      '',
    ],
  ]),
  ...inFile('packages/cluster/src/run/folderClaim.ts', [
    [
      'hints are not verified',
      'if (!(await isPrefix(store.fileSystem, segmentPath(store.path, partition, segment.claim), segment)))',
      'if (segment.bytes < 0)',
    ],
    [
      'rows are not durable when they count',
      'await this.#file?.flush();\n    await this.#file?.syncName();',
      'await this.#file?.syncName();',
    ],
    ['the file of rows has no durable name when they count', 'await this.#file?.syncName();', ''],
    [
      'a refused claim removes rows that were continued',
      'if (done && !done.segments.some(({ claim }) => claim === this.#id))',
      'if (done)',
    ],
    [
      'rows that were continued are missed, though the partition is done',
      'if (missing !== undefined && (await this.#store.exists(done))) return this.#refused();',
      '',
    ],
  ]),
  ...inFile('test/kit/limiterTwin.ts', [
    [
      'a book that was lost opens at once',
      'const book = found ?? newBook(first);',
      'const book = found ?? { ...newBook(first), runId: clock.runId, openedAt: clock.time, closedUntil: [0, 0], log: [[], []] };',
    ],
    [
      'a failover is not noticed',
      'if (book.runId !== clock.runId || isStepped)',
      "if (book.runId === '' || isStepped)",
    ],
    ['a step of the clock is not noticed', '|| call.steppedSince === book.openedAt', '|| call.steppedSince < 0'],
    [
      'permits count from when they are granted',
      'enter(book.log, windows, at + maxRoundTrip, costs);\n  book.granted',
      'enter(book.log, windows, at, costs);\n  book.granted',
    ],
    [
      'permits that are not reported do not count',
      'used += costs[w] ?? 0;\n  return used;',
      'used += 0 * (costs[w] ?? 0);\n  return used;',
    ],
  ]),
  ...inFile('packages/cluster/src/limiter/sharedLimiter.ts', [
    ['a late permit is used', 'wasSteady && !isLate && received', 'wasSteady && received'],
    ['an old permit is used', 'age() <= maxRoundTrip &&', 'age() >= 0 &&'],
    ['a timer outlives the limiter', 'if (this.#isClosed || ms === Infinity) return;', 'if (ms === Infinity) return;'],
    [
      'a process that was stopped thinks that Redis is away',
      'this.#awaySince ??= Math.max(sent, now - longestCall)',
      'this.#awaySince ??= sent',
    ],
  ]),
  ...inFile('packages/cluster/src/limiter/serverClock.ts', [
    [
      'a log that was opened anew hides a step',
      'if (!last) return true;',
      'if (last?.reply.openedAt !== reply.openedAt) return true;',
    ],
  ]),
  ...inFile('packages/cluster/src/run/sourceOfRun.ts', [
    [
      'a merge that ends leaves a file open',
      '    } finally {\n      // Also',
      '    } finally {\n      if (page < 0) // Also',
    ],
  ]),
];
