import { expect, test } from 'vitest';
import { judgeRace } from './judgeRace.js';

test.each([
  ['one after the other', 'enter a,leave a,enter b,leave b', []],
  ['a second one beside the first', 'enter a,enter b,leave a,leave b', ['b entered while a was inside.']],
  ['a second one beside one that is killed only then', 'enter a,enter b,kill a', ['b entered while a was inside.']],
  ['a second one beside one that is stopped', 'enter a,stop a,enter b', ['b entered while a was inside.']],
  ['one after the killed one', 'enter a,kill a,enter b,leave b', []],
  ['one that is killed, and is inside before it ends', 'kill a,enter a,enter b', []],
  ['one that is killed, and enters beside another', 'enter b,kill a,enter a', ['a entered while b was inside.']],
])('a race of %s is judged', (_, log, faults) => {
  expect(judgeRace(log.replaceAll(',', '\n')).faults).toEqual(faults);
});

test('kills are counted by what they hit', () => {
  expect(judgeRace('kill a\nenter b\nstop b\nkill b\nenter c\nleave c\nkill c\n')).toMatchObject({
    entered: 2,
    killed: { acquiring: 1, holding: 1, releasing: 1 },
    stopped: 1,
  });
});
