/**
 * The command `cdpfetch` as a process: the tools it offers, and one call of a tool.
 *
 * A call is `cdpfetch tool NAME --hold`: its arguments are the first line of standard input, and it ends, with its
 * fetches, when that input does, so also when pi dies.
 */

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A tool as `cdpfetch tool --list` describes it. */
export interface Definition {
	name: string;
	title: string;
	description: string;
	input_schema: Record<string, unknown>;
	output_schema: Record<string, unknown>;
	read_only: boolean;
	open_world: boolean;
}

/** What a call gave: `text` for the model, `data` by the tool's output schema. */
export interface Result {
	text: string;
	data: Record<string, any>;
	is_error: boolean;
}

interface Ended {
	status: number | null;
	lines: string[];
	errors: string;
}

/** Milliseconds that a call without fetches may take. */
const SHORT = 60_000;
/** Milliseconds between asking a cancelled call to end and ending it. */
const GRACE = 5_000;
/** Characters that are kept of what the command says on standard error. */
const MAX_ERRORS = 4_000;

/** The words that start cdpfetch and what they need in the environment: as its installer noted them. */
export function installed(): { command: string[]; env: Record<string, string> } {
	try {
		const found = JSON.parse(readFileSync(join(dirname(fileURLToPath(import.meta.url)), "command.json"), "utf8"));
		if (Array.isArray(found.command) && found.command.length) {
			return { command: found.command.map(String), env: found.env ?? {} };
		}
	} catch {
		// Copied here by hand: then it is the one on the PATH.
	}
	return { command: ["cdpfetch"], env: {} };
}

/** The tools that are configured.  Rejects where the command can't be run. */
export async function definitions(): Promise<Definition[]> {
	const { status, lines, errors } = await run(["tool", "--list"], { timeout: SHORT });
	if (status !== 0) throw new Error(errors.trim() || `cdpfetch tool --list ended with status ${status}`);
	return lines.map((line) => JSON.parse(line) as Definition);
}

/** A verb of the command that prints text; rejects with what it said when it failed. */
export async function verb(...words: string[]): Promise<string> {
	const { status, lines, errors } = await run(words, { timeout: SHORT });
	if (status !== 0) throw new Error(errors.trim() || `cdpfetch ${words[0]} ended with status ${status}`);
	return lines.join("\n");
}

/** Call a tool; `progress` hears of its stages.  Rejects when it was cancelled or gave no result. */
export async function call(
	name: string,
	given: unknown,
	signal: AbortSignal | undefined,
	progress: (text: string) => void,
): Promise<Result> {
	let result: Result | undefined;
	const { status, errors } = await run(["tool", name, "--hold"], {
		signal,
		input: `${JSON.stringify(given)}\n`,
		onLine(line) {
			const found = JSON.parse(line);
			if (found.event === "progress") progress(found.text);
			else if (found.event === "result") result = found;
		},
	});
	if (signal?.aborted) throw new Error(`${name} was cancelled`);
	if (!result) throw new Error(errors.trim() || `cdpfetch ended with status ${status} and without a result`);
	return result;
}

interface Options {
	/** Kept open behind what is written, until the process ends or is cancelled. */
	input?: string;
	signal?: AbortSignal;
	/** Milliseconds. */
	timeout?: number;
	onLine?: (line: string) => void;
}

function run(words: string[], options: Options): Promise<Ended> {
	const { command, env } = installed();
	return new Promise((resolve, reject) => {
		if (options.signal?.aborted) return reject(new Error("it was cancelled"));
		const child = spawn(command[0], [...command.slice(1), ...words], {
			env: { ...process.env, ...env },
			stdio: ["pipe", "pipe", "pipe"],
		});
		const lines: string[] = [];
		let errors = "";
		let failure: Error | undefined;
		let last: NodeJS.Timeout | undefined;
		const end = () => {
			child.stdin.end();
			child.kill("SIGTERM");
			last ??= setTimeout(() => child.kill("SIGKILL"), GRACE);
		};
		const limit = options.timeout
			? setTimeout(() => {
					failure ??= new Error(`cdpfetch ${words[0]} did not end within ${options.timeout! / 1000} s`);
					end();
				}, options.timeout)
			: undefined;
		options.signal?.addEventListener("abort", end, { once: true });
		child.stdin.on("error", () => {}); // it ended before it read all; its status says why
		if (options.input === undefined) child.stdin.end();
		else child.stdin.write(options.input);
		child.stderr.setEncoding("utf8").on("data", (text: string) => {
			errors = (errors + text).slice(-MAX_ERRORS);
		});
		const reader = createInterface({ input: child.stdout, crlfDelay: Number.POSITIVE_INFINITY });
		const read = new Promise<void>((done) => reader.on("close", done));
		reader.on("line", (line) => {
			try {
				if (options.onLine) options.onLine(line);
				else lines.push(line);
			} catch (error) {
				failure ??= error instanceof Error ? error : new Error(String(error));
				end();
			}
		});
		const settle = (status: number | null) => {
			clearTimeout(limit);
			clearTimeout(last);
			options.signal?.removeEventListener("abort", end);
			child.stdin.destroy();
			if (failure) reject(failure);
			else resolve({ status, lines, errors });
		};
		child.on("error", (error) => {
			failure ??= new Error(`cannot start ${command.join(" ")}: ${error.message}`);
			reader.close();
			if (child.pid === undefined) settle(null);
		});
		child.on("close", (status) => void read.then(() => settle(status)));
	});
}
