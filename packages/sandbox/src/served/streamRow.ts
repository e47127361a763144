import type { ShapeName } from './answerShape.js';
import { nastyTexts } from './nastyValues.js';
import { draws, fraction, hex, pick } from './random.js';

/** A JSON object with unspecified fields. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A list, as the live service sends it, or a single object, as the reference shows it. */
export type Nested = readonly JsonObject[] | JsonObject;

/** One EVM stream, as the endpoint sends it. Nasty rows have fields that are `null`, absent or unknown. */
export interface StreamRow {
  /** A UUID. */
  readonly id: string;
  /** `active`, `paused`, `error` or `terminated`, unless a test sets another one. */
  readonly status: string;
  readonly statusMessage: string | null;
  readonly webhookUrl: string;
  readonly description: string | null;
  readonly tag?: string | null;
  readonly topic0: readonly string[] | null;
  readonly allAddresses: boolean;
  readonly includeNativeTxs: boolean;
  readonly includeContractLogs: boolean;
  readonly includeInternalTxs: boolean;
  readonly includeAllTxLogs?: boolean;
  readonly getNativeBalances: Nested | null;
  readonly abi: Nested | null;
  readonly advancedOptions: Nested | null;
  readonly chainIds: readonly string[];
  readonly demo: boolean;
  readonly triggers: Nested | null;
  readonly [newField: string]: unknown;
}

/** A status and its message. */
export type StreamStatus = Pick<StreamRow, 'status' | 'statusMessage'>;

/** Creates the function that computes a stream from its index, the same at every call. */
export function streamRows(seed: number, nasty: number, nested: ShapeName): (index: number) => StreamRow {
  const listed = (object: JsonObject): Nested => (nested === 'live' ? [object] : object);
  const identity = draws(seed, 'stream id');
  const look = draws(seed, 'stream');
  const nastiness = draws(seed, 'nasty stream');

  return (index) => {
    const word = look(index);
    const flags = word >>> 8;
    const event = pick(events, word);
    const team = pick(teams, word >>> 4);
    const contract = `0x${hex(look(word), 40)}`;
    const bare: StreamRow = {
      id: formatUuid(hex(identity(index), 32)),
      ...pick(firstStatuses, word >>> 12),
      webhookUrl: `https://hooks.example.com/${team}/${event.name.toLowerCase()}/${index}`,
      description: `${event.name} events for the ${team} team`,
      topic0: [event.signature],
      allAddresses: (flags & 1) === 1,
      includeNativeTxs: (flags & 2) === 2,
      includeContractLogs: true,
      includeInternalTxs: (flags & 4) === 4,
      getNativeBalances: listed({ selectors: ['$fromAddress', '$toAddress'], type: 'tx' }),
      abi: listed({
        anonymous: false,
        constant: false,
        inputs: listed({ name: 'from', type: 'address', indexed: true, components: [], internalType: 'address' }),
        name: event.name,
        outputs: listed({ name: '', type: 'bool', components: [], internalType: 'bool' }),
        payable: false,
        stateMutability: 'nonpayable',
        type: 'event',
        gas: 21_000 + (word % 100_000),
      }),
      advancedOptions: listed({ topic0: event.signature, includeNativeTxs: (flags & 2) === 2 }),
      chainIds: chains.filter((_, at) => at === word % chains.length || (flags >>> (at + 4)) % 4 === 0),
      demo: word % 10 === 0,
      triggers: listed({
        type: 'erc20transfer',
        contractAddress: contract,
        inputs: ['$from'],
        functionAbi: {
          anonymous: false,
          constant: true,
          inputs: [{ name: 'owner', type: 'address', indexed: false, components: [], internalType: 'address' }],
          name: 'balanceOf',
          outputs: [{ name: 'balance', type: 'uint256', components: [], internalType: 'uint256' }],
          payable: false,
          stateMutability: 'view',
          type: 'function',
          gas: 30_000,
        },
        topic0: event.signature,
        callFrom: contract,
      }),
    };
    const tag = `${team}-${event.name.toLowerCase()}-${index}`;
    const row: StreamRow = { ...bare, tag, includeAllTxLogs: (flags & 8) === 8 };
    const nastyWord = nastiness(index);
    return fraction(nastyWord) < nasty ? nastyRow(bare, row, look(nastyWord)) : row;
  };
}

/** Another status than the current one. */
export function nextStatus(current: string, word: number): StreamStatus {
  const others = statuses.filter(({ status }) => status !== current);
  return pick(others, word);
}

/** Every nasty row has a nasty description and one more nasty field; `bare` is without the optional fields. */
function nastyRow(bare: StreamRow, row: StreamRow, word: number): StreamRow {
  const described: StreamRow = { ...row, description: pick(nastyTexts, word) };
  switch ((word >>> 8) % 5) {
    case 0:
      return { ...described, tag: pick(nastyTexts, word >>> 16) };
    case 1:
      return { ...described, topic0: null, abi: null, triggers: null, getNativeBalances: null, advancedOptions: null };
    case 2:
      return {
        ...described,
        statusMessage: null,
        updatedAt: '2025-06-01T12:00:00.000Z',
        region: { name: 'eu', zone: 1 },
      };
    case 3:
      return { ...bare, description: pick(nastyTexts, word) };
    default:
      return { ...described, statusMessage: pick(nastyTexts, word >>> 16) };
  }
}

function formatUuid(digits: string): string {
  const parts = [digits.slice(0, 8), digits.slice(8, 12), `4${digits.slice(13, 16)}`, `a${digits.slice(17, 20)}`];
  return [...parts, digits.slice(20)].join('-');
}

const active: StreamStatus = { status: 'active', statusMessage: 'Stream is active' };
const paused: StreamStatus = { status: 'paused', statusMessage: 'Paused by the project' };
const failing: StreamStatus = { status: 'error', statusMessage: 'The webhook answered 503 to 12 deliveries in a row' };
const terminated: StreamStatus = { status: 'terminated', statusMessage: 'Terminated after 24 hours in error' };
const statuses: readonly StreamStatus[] = [active, paused, failing, terminated];

/** Most streams start as active. */
const firstStatuses: readonly StreamStatus[] = [active, active, active, active, active, paused, failing, terminated];

const teams: readonly string[] = ['treasury', 'market', 'games', 'bridge', 'support', 'research', 'risk'];

const chains: readonly string[] = ['0x1', '0x89', '0x38', '0xa4b1', '0x2105', '0xa', '0xa86a'];

const events: readonly { name: string; signature: string }[] = [
  { name: 'Transfer', signature: 'Transfer(address,address,uint256)' },
  { name: 'Approval', signature: 'Approval(address,address,uint256)' },
  { name: 'ApprovalForAll', signature: 'ApprovalForAll(address,address,bool)' },
  { name: 'Swap', signature: 'Swap(address,uint256,uint256,uint256,uint256,address)' },
  { name: 'Deposit', signature: 'Deposit(address,uint256)' },
  { name: 'Withdrawal', signature: 'Withdrawal(address,uint256)' },
  { name: 'TransferSingle', signature: 'TransferSingle(address,address,address,uint256,uint256)' },
];
